// The state of the service: how old the data is, each exchange, the history that is fetched, and what was set aside.
import { html, useEffect } from "../vendor/preact/preact.js";
import { useAnswer } from "./api.js";
import * as format from "./format.js";
import { Bar, Notice, Source } from "./parts.js";

const Fact = ({ title, children }) => html`<div><dt>${title}</dt><dd>${children}</dd></div>`;
const Table = ({ title, note, heads, rows, none }) => html`<section class="panel"><div class="bar-top"><h2>${title} <small>${rows.length}</small></h2><span class="fine">${note}</span></div>
  ${rows.length === 0 ? html`<p class="none pad">${none}</p>` : html`<div class="scroll" tabindex="0" role="region" aria-label=${title}><table><thead><tr>${
    heads.map(([head, kind]) => html`<th scope="col" class=${kind}>${head}</th>`)}</tr></thead><tbody>${
    rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell, index) => html`<td class=${heads[index + 1][1]}>${cell}</td>`)}</tr>`)}</tbody></table></div>`}</section>`;

export function View() {
  const { data, error } = useAnswer("/api/status");
  useEffect(() => {
    document.title = "Status · Tidemark";
  }, []);
  if (!data) return html`<h1 class="title">Status</h1><${Notice} error=${error} of="Status" />`;
  const venues = data.venues.map((venue) => [venue.venue, venue.state === "partial" ? html`<span class="down">in part</span>` : "ok", format.stamp(venue.last_good_ms),
    venue.ok_endpoints, venue.failed_endpoints, [venue.reason, venue.last_error && `${format.stamp(venue.last_error_ms)}: ${venue.last_error}`].filter(Boolean).join("; ") || format.NONE]);
  const fetched = Object.entries(data.backfill?.venues ?? {}).map(([venue, one]) => [venue, html`<${Bar} share=${one.share} />${format.percent(one.share, 0)}`,
    format.count(one.requests), format.count(one.rows), format.count(one.failed), one.last_error ?? format.NONE]);
  const again = data.upgrade;
  return html`<div class="coinhead"><h1>Status <small>${data.state}</small></h1>
    <dl class="facts"><${Fact} title="Edition">${data.edition ?? format.NONE}<//><${Fact} title="As of">${format.clockSeconds(data.as_of)}<//>
      <${Fact} title="Age of the newest minute">${format.duration(data.recorder_lag_s)}<//><${Fact} title="Built and published in">${format.duration(data.build_lag_s)}<//>
      <${Fact} title="Recorded since">${format.stamp(data.recorded_since)}<//></dl></div>
    ${data.error && html`<p class="notice"><b>Nothing to show yet:</b> ${data.error}</p>`}
    <${Table} title="Exchanges" note=${`newest minute, ${format.zoneName()}`} rows=${venues} none="No exchange has been recorded yet."
      heads=${[["Exchange"], ["State", "left"], ["Last good minute", "left"], ["Requests that answer"], ["That fail"], ["Why, and the last error", "text"]]} />
    ${again && html`<${Table} title="Built again after an upgrade" note=${again.state} none=""
      heads=${[["Days"], ["Done", "left share"], ["Finished days"], ["Newest day left", "left"], ["Failed"], ["Last error", "text"]]}
      rows=${[[format.count(again.days), html`<${Bar} share=${again.share} />${format.percent(again.share, 0)}`, format.count(again.finished_days), format.stamp(again.newest_left_ms), format.count(again.failed_days), again.last_error ?? format.NONE]]} />`}
    <${Table} title="Fetched history" note=${data.backfill?.state ?? "not begun"} rows=${fetched} none="No history is fetched yet."
      heads=${[["Exchange"], ["Done", "left share"], ["Requests"], ["Rows"], ["Failed"], ["Last error", "text"]]} />
    ${!data.error && html`<${Table} title="Found suspect in 24 hours" note=${html`<a href="/quality/">Report of the checks</a>`} none="The quality checks have found nothing."
      heads=${[["Check"], ["Exchange", "left"], ["Rows"], ["Newest", "left"]]} rows=${(data.suspects ?? []).map((one) => [one.check, one.venue ?? format.NONE, format.count(one.rows), format.stamp(one.last_ms)])} />
    <${Table} title="Set aside" note="responses with which a model failed" none="Every response has been read."
      heads=${[["Exchange"], ["Responses"], ["Newest", "left"], ["Endpoint", "left"], ["Error", "text"]]}
      rows=${(data.quarantine ?? []).map((one) => [one.venue, format.count(one.bodies), format.stamp(one.last_ms), one.endpoint, one.error])} />`}
    <section class="panel"><div class="bar-top"><h2>Source</h2></div><div class="below"><${Source} id="status" path="/api/status" rows="venues" /></div></section>`;
}
