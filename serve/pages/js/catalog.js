// The catalogue: what every metric means, how it is computed, and an example of its request.
import { html, useEffect } from "../vendor/preact/preact.js";
import { useAnswer } from "./api.js";
import { example, Notice, Source } from "./parts.js";

function Metric({ metric }) {
  const facts = [["Unit", metric.unit], ["Formula", metric.formula], ["Fields", metric.fields.join(", ")], ["Steps", metric.steps.join(", ")],
    ["Of", metric.selectors.join(", ") || "all coins together"], ["Kinds", metric.kinds.join(", ")], ["Also called", metric.aliases.join(", ")],
    ["Past", metric.history ? "The exchanges' own history fills in what was not recorded." : "Only what was recorded."]];
  return html`<section class="panel metric" id=${metric.metric}><h2>${metric.title} <small><code>${metric.metric}</code></small></h2><p>${metric.description}</p>
    <dl>${facts.filter(([, said]) => said).map(([name, said]) => html`<dt>${name}</dt><dd>${said}</dd>`)}
      ${metric.caveats.length > 0 && html`<dt>Caveats</dt><dd><ul>${metric.caveats.map((caveat) => html`<li>${caveat}</li>`)}</ul></dd>`}
      <dt>Requests</dt><dd><a href=${example(metric)}>${example(metric)}</a>, <a href=${metric.methodology}>its SQL and sources</a></dd></dl></section>`;
}

export function View() {
  const { data, error } = useAnswer("/api/metrics");
  useEffect(() => {
    document.title = "Metrics · Tidemark";
  }, []);
  // The browser looks for the part of the address after # before the metrics are there.
  useEffect(() => {
    if (data) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [data !== null]);
  return html`<h1 class="title">Metrics</h1><${Notice} error=${error} of="Metrics" />
    <p class="lead-text">Every series that can be requested. Definitions are those of the served edition; <a href="/guide/methods#1-series">Methods</a> has the longer
      form, <a href="/dbt/">Tables</a> the columns behind them.</p>
    <nav class="chips" aria-label="Metrics">${(data?.metrics ?? []).map(({ metric, title }) => html`<a class="mini" href=${`#${metric}`}>${title}</a>`)}</nav>
    <div class="metrics">${(data?.metrics ?? []).map((metric) => html`<${Metric} key=${metric.metric} metric=${metric} />`)}</div>
    ${data && html`<section class="panel"><div class="bar-top"><h2>Source</h2></div><div class="below"><${Source} id="metrics" path="/api/metrics" rows="metrics" /></div></section>`}`;
}
