// The page of one metric: what it means, how it is computed, and how it is requested.
import { html, useEffect } from "../vendor/preact/preact.js";
import { pageAt } from "./address.js";
import { useAnswer } from "./api.js";
import { example, Link, Notice, Source } from "./parts.js";

const Fact = ({ title, children }) => html`<div><dt>${title}</dt><dd>${children}</dd></div>`;

export function View({ name }) {
  const { data, error } = useAnswer("/api/metrics");
  const metric = data?.metrics.find((one) => one.metric === name || one.aliases.includes(name));
  useEffect(() => {
    document.title = `${metric?.title ?? name} · Tidemark`;
  }, [metric, name]);
  if (!metric) {
    return html`<nav class="crumb" aria-label="Breadcrumb"><${Link} href=${pageAt("/catalog")}>Metrics<//></nav>
      <h1 class="title">${data ? `No metric is called ${name}` : name}</h1><${Notice} error=${error} of="Metrics" />`;
  }
  const ofCoin = metric.selectors.includes("base");
  const steps = data.steps.filter((step) => metric.steps.includes(step.step));
  return html`<nav class="crumb" aria-label="Breadcrumb"><${Link} href=${pageAt("/catalog")}>Metrics<//></nav><h1 class="title">${metric.title}</h1>
    <div class="coin"><section class="panel definition"><p>${metric.description}</p>
      <h2>Formula</h2><p>${metric.formula}</p><h2>Caveats</h2><ul>${metric.caveats.map((caveat) => html`<li>${caveat}</li>`)}</ul>
      <dl class="facts-list"><${Fact} title="Unit">${metric.unit}<//><${Fact} title="Fields"><code>${metric.fields.join(", ")}</code><//>
        <${Fact} title="Other names">${metric.aliases.join(", ") || "none"}<//><${Fact} title="Selected by">${metric.selectors.join(", ") || "nothing: it is of all coins"}<//>
        ${metric.types.length > 0 && html`<${Fact} title="Markets">${metric.types.join(", ")}<//>`}${metric.kinds.length > 0 && html`<${Fact} title="Kinds">${metric.kinds.join(", ")}<//>`}
        <${Fact} title="Steps">${steps.map((step) => `${step.step} (${step.keep_days == null ? "for ever" : `${step.keep_days} days`})`).join(", ")}<//>
        <${Fact} title="Before recording began">${metric.history ? "the exchanges' own history is fetched" : "nothing: no exchange publishes it"}<//></dl></section>
    <aside class="panel side" aria-label="Requests"><${Source} id="metric" path=${example(metric, "range=7d", "step=1h")} />
      <p class="pad fine">${ofCoin && html`<${Link} href=${pageAt(`/coins/BTC/${metric.metric}`)}>Its chart for BTC<//>, `}<a href=${metric.methodology}>SQL, sources and tests</a>, <a href="/guide/methods#1-series">methods</a>, <a href="/dbt/">tables</a></p></aside></div>`;
}
