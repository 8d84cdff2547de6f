// Where one number of a chart came from: the markets in it, the parts of one of them, and the exchange's own responses.
import { html, useEffect } from "../vendor/preact/preact.js";
import { chosen, coinAt, marketAt, pageAt, withChoices } from "./address.js";
import { useAnswer } from "./api.js";
import * as format from "./format.js";
import { Choice, Link, Notice, Source } from "./parts.js";
import * as table from "./table.js";
import { Table } from "./table.js";

// What the request takes of the address: everything but how it is shown.
const OWN = ["metric", "t", "base", "market", "venue", "type", "kind", "step", "of", "minute", "body", "after"];

function request() {
  const query = new URLSearchParams(OWN.filter((name) => chosen(name) != null).map((name) => [name, chosen(name)]));
  if (!query.has("body")) query.set("body", "0");
  return `/api/explain?${query}`;
}

const written = (value) => (value == null ? format.NONE : typeof value === "object" ? JSON.stringify(value) : String(value));

// What the exchange sent of this market, and what was made of it.
function Row({ view, row, columns }) {
  const side = (title, values) => html`<div class="scroll" tabindex="0" role="region" aria-label=${`${view}: ${title}`}>
    <table class="values"><thead><tr><th scope="col" class="left">${title}</th><th scope="col">Value</th></tr></thead><tbody>
    ${Object.entries(values ?? {}).map(([name, value]) => html`<tr><th scope="row" class="left"><code>${name}</code></th>
      <td>${written(value)}</td></tr>`)}</tbody></table></div>`;
  return html`<p class="pad fine">Read by <code>${view}</code></p>
    <div class="pair">${side("As the exchange names it", row)}${side("Column", columns)}</div>`;
}

function Response({ response }) {
  const { venue, endpoint, key, status, error } = response;
  return html`<section class="panel explained"><div class="bar-top"><h2>${venue}: ${endpoint}${key ? `, ${key}` : ""}</h2>
      <span class="fine">status ${written(status)}${error ? `: ${error}` : ""}, asked ${format.clockSeconds(response.requested_ms)},
      received ${format.clockSeconds(response.received_ms)} ${format.zoneName()}</span></div>
    ${(response.rows ?? []).map((one) => html`<${Row} ...${one} />`)}
    <p class="pad fine">Landed in <code>${response.file}</code>, ${format.count(response.body_bytes)} bytes.</p>
    ${response.body != null && html`<pre class="code" tabindex="0"><code>${response.body}</code></pre>`}
    ${response.read_with && html`<p class="pad fine">The whole body, in the folder of the landing:</p>
      <pre class="code" tabindex="0"><code>${response.read_with}</code></pre>`}</section>`;
}

function Evidence({ evidence, say }) {
  const { market_id: of, parts, t, responses, reason } = evidence;
  const fields = Object.keys(parts[0]?.values ?? {});
  const columns = [
    table.text("From", "t", { show: (one) => html`<${Link} href=${withChoices({ of, minute: one })}>${format.stamp(one)}<//>` }),
    ...fields.map((field) => ({ title: field, value: (part) => part.values[field], show: say })),
  ];
  const whole = chosen("body") === "1";
  return html`<${Table} name="parts" title=${`Parts of ${of}`} note=${html`the finest that is kept; <${Link} href=${marketAt(of)}>the market<//>`} columns=${columns} rows=${parts} first=${60} />
    <div class="boardhead explained"><div><h2 class="title">Responses of ${t == null ? of : format.stamp(t)}</h2>
      ${reason && html`<p class="fine about">${reason}</p>`}</div><div class="controls">${responses.length > 0 && html`<${Choice}
      pressed=${whole} href=${withChoices({ body: whole ? null : 1 })} class="mini">Bodies<//>`}</div></div>
    ${responses.map((response) => html`<${Response} key=${response.load + response.requested_ms} response=${response} />`)}`;
}

export function View() {
  const path = request();
  const { data, error } = useAnswer(path);
  const metrics = useAnswer("/api/metrics").data;
  const known = metrics?.metrics.find((one) => one.metric === data?.metric);
  const subject = chosen("market") ?? chosen("base") ?? "All coins";
  const title = `${subject}: ${known?.title ?? chosen("metric", "a number")}`;
  useEffect(() => {
    document.title = `${title} · Tidemark`;
  }, [title]);
  const head = html`<nav class="crumb" aria-label="Breadcrumb"><${Link} href=${chosen("base") ? coinAt(chosen("base")) : pageAt("/")}>
    ${chosen("base") ?? "Markets"}<//></nav><h1 class="title">${title}</h1>`;
  if (!data || !known) return html`${head}<${Notice} error=${error} of="The number" />${!error && html`<div class="hold tall"></div>`}`;
  const [say] = format.sayers(data.metric, known.unit);
  const isSum = (name) => data.values[name] != null && Math.abs(data.values[name] - data.sums[name]) <= 1e-9 * Math.abs(data.sums[name]);
  const fields = Object.keys(data.sums);
  const rows = data.markets.map((one) => ({ market: one.market_id, ...one.values }));
  const columns = [
    table.text("Market", "market", { show: (of) => html`<${Link} href=${withChoices({ of, minute: null })}>${of}<//>` }),
    ...fields.map((field) => ({ title: fields.length > 1 ? field : known.title, value: (row) => row[field], show: say })),
  ];
  return html`${head}<p class="fine about">${format.span(data.t, data.end)} ${format.zoneName()}, ${data.venue ?? "all exchanges"}.
      Answered from <code>${data.source}</code>.</p>
    <dl class="totals figures">${Object.entries(data.values).map(([name, value]) => html`<div><dt>${name === "v" ? known.title : name}</dt>
      <dd class="value">${say(value)}</dd><dd class="sub">${isSum(name) ? `the sum of ${data.total} markets` : `made of ${data.total} markets`}</dd></div>`)}</dl>
    <div class="coin explained"><section class="panel definition"><h2>Formula</h2><p>${known.formula}</p><h2>SQL of the number</h2>
      <pre class="code" tabindex="0"><code>${data.sql}</code></pre></section>
      <aside class="panel side" aria-label="Requests"><${Source} id="explain" path=${path} /></aside></div>
    <${Table} name="markets" title="Markets in it" note=${known.unit} columns=${columns} rows=${rows} first=${200} />
    ${data.next && html`<p class="pad"><${Link} href=${withChoices({ after: data.next })}>Further markets<//></p>`}
    ${data.evidence ? html`<${Evidence} evidence=${data.evidence} say=${say} />` : html`<p class="none pad">No market has a value in it.</p>`}`;
}
