// The page of one coin: price, open interest, funding and liquidations on one time axis, and where they come from.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact/preact.js";
import { chosen, coinAt, explanationAt, go, marketAt, pageAt, withChoices } from "./address.js";
import { ask, Refused, useAnswer } from "./api.js";
import { buckets, Charts, isFetched, negated, savePng, symmetric } from "./chart.js";
import * as format from "./format.js";
import { knownPath, Then, withThen } from "./known.js";
import { Bar, Choice, Funding, Link, Notice, Source } from "./parts.js";
import * as table from "./table.js";
import { Table } from "./table.js";

// The ranges with the step that each has without a choice.
const RANGES = { "1h": "1m", "6h": "1m", "1d": "5m", "7d": "1h", "30d": "1h", "90d": "4h", "1y": "1d" };
const RANGE = "7d";
const STEPS = Object.keys(format.STEPS);
const LENGTHS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 };
const TABLE_ROWS = 200;
const NEWEST = 10;

const only = (values, keep) => values.map((value, index) => (value != null && keep(value, index) ? value : null));
// A value between unknown ones is a point, as a line needs two.
const standsAlone = (values) => values.some((value, index) => value != null && values[index - 1] == null && values[index + 1] == null);

// The value of a bucket, or the newest where none is chosen.
const at = (values, index) => (index == null ? values.findLast((value) => value != null) : values[index]) ?? null;
// How a sum of a bucket is said: with ≥ where markets are missing, which it counts.
function summed(show, { values, n, expected }, index) {
  const bucket = index ?? values.findLastIndex((value) => value != null);
  const missing = n[bucket] != null && expected[bucket] != null && n[bucket] < expected[bucket];
  const said = values[bucket] == null ? format.NONE : (missing ? "≥ " : "") + show(values[bucket]);
  return missing && values[bucket] != null ? [["", said], ["", `${n[bucket]} of ${expected[bucket]} markets`, "quiet-read"]] : [["", said]];
}

// The four charts: the metric, its fields, and how an answer becomes a pane.
const CHARTS = [
  { key: "price", title: "Price", unit: "USD", fields: ["v"], show: format.price, pane: ([, values]) => ({
    lines: [{ kind: "line", ink: "price", width: 1.6, dots: standsAlone(values) }], arrays: [values],
    colour: "price", tag: format.price, tick: format.priceTick,
    read: (index) => {
      const first = values.find((value) => value != null);
      const last = at(values, index);
      const over = index == null && first ? [["over the range", format.change(last / first - 1), format.tone(last - first)]] : [];
      return [["", format.price(last)], ...over];
    } }) },
  { key: "oi", title: "Open interest", unit: "USD, one side", fields: ["v"], show: format.usd, pane: ([, values, n, expected, origin]) => {
    // Sums over other sets of markets are not one line: fetched history is dashed, and ends where recording begins.
    const isHistory = (_, index) => isFetched(origin[index], n[index], expected[index]);
    const recorded = only(values, (...bucket) => !isHistory(...bucket));
    const fetched = only(values, isHistory);
    return {
      lines: [{ kind: "line", ink: "oi", width: 1.35, dash: [4, 3], dots: standsAlone(fetched) }, { kind: "line", ink: "oi", width: 1.7, dots: standsAlone(recorded) }, { ink: null, width: 0 }],
      arrays: [fetched, recorded, values],
      colour: "oi", tag: (value) => format.usd(value, 4), tick: format.usdTick,
      read: (index) => summed((value) => format.usd(value, 4), { values, n, expected }, index),
    };
  } },
  { key: "funding", title: "Funding", unit: "per 8 hours", fields: ["v"], show: format.funding, pane: ([, values]) => ({
    lines: [{ kind: "area", fill: "up-soft", width: 0 }, { kind: "area", fill: "down-soft", width: 0 }, { kind: "step", ink: "up" }],
    arrays: [only(values, (value) => value > 0), only(values, (value) => value < 0), values],
    colour: "up", tag: (value) => format.change(value, 3), tick: format.fundingTick,
    range: (plot, low, high) => {
      const most = Math.max(Math.abs(low ?? 0), Math.abs(high ?? 0), 1e-4) * 1.15;
      return [low < 0 ? -most : -0.12 * most, high > 0 || low == null ? most : 0.12 * most];
    },
    read: (index) => {
      const rate = at(values, index);
      return [["", format.funding(rate), format.tone(rate)], ["a year", format.yearly(rate)]];
    } }) },
  { key: "liquidations", title: "Liquidations", unit: "USD, shorts above, longs below", fields: ["short", "long"], show: format.usd,
    pane: ([, short, long, n, expected]) => ({
      lines: [{ kind: "bars", fill: "up", width: 0 }, { kind: "bars", fill: "down", width: 0 }], arrays: [short, negated(long)],
      colour: "up", tick: (value, increment) => format.usdTick(Math.abs(value), increment), range: symmetric(1),
      read: (index) => {
        const [[, up], ...missing] = summed(format.usd, { values: short, n, expected }, index);
        return [["shorts", up, "up"], ["longs", format.usd(at(long, index)), "down"], ...missing];
      } }) },
];

// The range that is chosen, where no answer says which it is.
function chosenSpan() {
  const [start, end] = [Number(chosen("start")), Number(chosen("end"))];
  if (start && end) return { start, end };
  const [, count, unit] = chosen("range", RANGE).match(/^(\d+)([mhdwy])$/) ?? [null, 1, "d"];
  return { start: Date.now() - count * LENGTHS[unit], end: Date.now() };
}

// A pane whose request was refused stays in its place and says why.
function refused(chart, error) {
  const span = chosenSpan();
  const text = { 429: "not answered: budget spent", 503: "nothing can be read yet" }[error.status] ?? `not answered: ${error.message.slice(0, 60)}`;
  return made(chart, { ...span, step: (span.end - span.start) / 100, t: [], gaps: [{ ...span, venue: null, reason: "refused", text }] });
}

function made(chart, answer) {
  const columns = buckets(answer, [...chart.fields, "n", "expected", "origin"]);
  const { arrays, ...pane } = chart.pane(columns);
  return { ...chart, ...pane, columns, answer, data: [columns[0], ...arrays], gaps: answer.gaps };
}

// All charts are one request; the source of each is its metric's own, with the same numbers.
function useSeries(base, choice, venue, asOf) {
  const selected = `base=${encodeURIComponent(base)}&${choice}${venue ? `&venue=${venue}` : ""}`;
  const { data, error } = useAnswer(`/api/series?m=${CHARTS.map(({ key }) => key).join(",")}&${selected}&coverage=1`);
  const then = useAnswer(data ? knownPath(`/api/series?m=${CHARTS.map(({ key }) => key).join(",")}&base=${encodeURIComponent(base)}${venue ? `&venue=${venue}` : ""}`, data, asOf) : null);
  const panes = useMemo(() => {
    if (data) return CHARTS.map((chart) => withThen(made(chart, { ...data, ...data.series[chart.key] }), data, then.data && { ...then.data, ...then.data.series[chart.key] }, chart.fields[0], chart.show));
    return error && CHARTS.map((chart) => refused(chart, error));
  }, [data, error, then.data, chosen("tz")]);
  const step = data && format.stepOf(data.step);
  const paths = CHARTS.map(({ key }) => `/api/series/${key}?${step ? selected.replace(/step=\w+/, `step=${step}`) : selected}`);
  // Those of the last choice stay until the new ones are there.
  const shown = useRef(null);
  if (panes) shown.current = { panes, paths, step, start: panes[0].answer.start, end: panes[0].answer.end };
  return { shown: shown.current, isOld: !panes, error, refusedThen: then.error };
}

function Definition({ base, metric }) {
  const [metrics, setMetrics] = useState(null);
  useEffect(() => {
    ask("/api/metrics").then((data) => setMetrics(data.metrics), () => {});
  }, []);
  const known = metrics?.find((one) => one.metric === metric);
  return html`<div class="define"><h2>Definition</h2><p>${known?.description ?? "…"}</p>${known && html`<details><summary>Formula and caveats</summary>
    <p>${known.formula}</p><ul>${known.caveats.map((caveat) => html`<li>${caveat}</li>`)}</ul></details>
    <p class="fine">Unit: ${known.unit}. <${Link} href=${`${pageAt("/catalog")}#${known.metric}`}>All of it<//>, <a href=${known.methodology}>SQL and sources</a>.
      <${Link} href=${pageAt(`/coins/${encodeURIComponent(base)}/${metric}`)}>By exchange, as known earlier, accuracy<//></p>`}</div>`;
}

// What the marks of a chart mean, in words.
function Gaps({ pane }) {
  const groups = [...Map.groupBy(pane.gaps, (gap) => `${gap.start} ${gap.end} ${gap.reason} ${gap.venue == null}`).values()];
  return html`<div class="missing"><h2>Not recorded in this range</h2>${groups.length === 0 && html`<p class="fine">Every bucket is recorded.</p>`}
    <ul>${groups.slice(0, 20).map(([gap, ...others]) => html`<li><span>${format.span(gap.start, gap.end)}</span><span>${gap.text ?? format.REASONS[gap.reason] ?? gap.reason}${
      gap.venue != null && `: ${[gap, ...others].map(({ venue }) => venue).join(", ")}`}</span></li>`)}</ul>
    ${groups.length > 20 && html`<p class="fine">and ${groups.length - 20} more, in the answer's gaps.</p>`}
    ${pane.answer.source && html`<p class="fine">Answered from <code>${pane.answer.source}</code>${pane.answer.coarsened ? `; ${pane.answer.coarsened}` : ""}.</p>`}</div>`;
}

// The values of a chart, the newest first.
function Values({ pane, explanation }) {
  const [all, setAll] = useState(false);
  const [times, ...columns] = pane.columns;
  const [n, expected, origin] = columns.slice(pane.fields.length);
  const show = { price: format.price, funding: format.funding }[pane.key] ?? format.usd;
  const rows = times.map((_, index) => index).reverse();
  const reason = (time) => pane.gaps.find((gap) => gap.venue == null && gap.start <= time && time < gap.end);
  return html`<section class="panel"><div class="bar-top"><h2>${pane.title}, ${pane.unit}</h2><span class="fine">${format.zoneName()}</span></div>
    <div class="scroll tall" tabindex="0" role="region" aria-label=${`Values of ${pane.title}`}><table class="values"><thead><tr><th scope="col" class="left">From</th>
      ${pane.fields.map((field) => html`<th scope="col">${field === "v" ? pane.title : `${field}s`}</th>`)}<th scope="col">Markets</th><th scope="col" class="left">Origin</th></tr></thead>
    <tbody>${(all ? rows : rows.slice(0, TABLE_ROWS)).map((index) => html`<tr><th scope="row" class="left"><${Link} href=${explanation(pane, times[index])}>${format.stamp(times[index])}<//></th>
      ${pane.fields.map((_, column) => html`<td>${show(columns[column][index])}</td>`)}
      <td>${n[index] == null ? format.NONE : expected[index] == null ? n[index] : `${n[index]} of ${expected[index]}`}</td>
      <td class="left">${origin[index] ?? format.REASONS[reason(times[index])?.reason] ?? format.NONE}</td></tr>`)}</tbody></table></div>
    ${!all && rows.length > TABLE_ROWS && html`<p class="pad"><button type="button" class="mini" onClick=${() => setAll(true)}>Show all ${rows.length}</button></p>`}</section>`;
}

function byVenue(perps) {
  const sums = new Map();
  for (const perp of perps) {
    const row = sums.get(perp.venue) ?? { venue: perp.venue, oi: null, volume: null, weighed: 0, weight: 0, markets: 0 };
    const add = (sum, value) => (value == null ? sum : (sum ?? 0) + value);
    const counts = perp.funding != null && perp.oi_usd != null;
    sums.set(perp.venue, { ...row, oi: add(row.oi, perp.oi_usd), volume: add(row.volume, perp.vol24h), markets: row.markets + 1,
      weighed: row.weighed + (counts ? perp.funding * perp.oi_usd : 0), weight: row.weight + (counts ? perp.oi_usd : 0) });
  }
  return [...sums.values()].map((row) => ({ ...row, funding: row.weight ? row.weighed / row.weight : null })).sort((a, b) => (b.oi ?? -1) - (a.oi ?? -1));
}

function Venues({ rows }) {
  const whole = rows.reduce((sum, row) => sum + (row.oi ?? 0), 0);
  return html`<section class="panel"><div class="bar-top"><h2>By exchange</h2><span class="fine">perps, newest minute</span></div>
    <div class="scroll" tabindex="0" role="region" aria-label="By exchange"><table><thead><tr><th scope="col" class="left">Exchange</th><th scope="col">Open interest</th>
      <th scope="col" class="left">Share</th><th scope="col">Volume, 24 h</th><th scope="col">Funding, 8 h</th><th scope="col">Markets</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr><th scope="row" class="left"><${Link} href=${withChoices({ venue: row.venue })}>${row.venue}<//></th><td>${format.usd(row.oi)}</td>
      <td class="left share"><${Bar} share=${rows[0].oi ? (row.oi ?? 0) / rows[0].oi : 0} />${format.percent(whole && row.oi != null ? row.oi / whole : null, 1)}</td>
      <td>${format.usd(row.volume)}</td><td class="funding"><${Funding} rate=${row.funding} /></td><td>${row.markets}</td></tr>`)}</tbody></table></div>
    ${rows.length === 0 && html`<p class="none pad">No exchange has reported a perp of it in the last minutes.</p>`}</section>`;
}

// Every market of the coin, each with a page of its own.
const marketTable = ({ perps, spots }) => ({
  name: "markets", title: "Markets", note: "newest minute", none: "None was reported in the last minutes.",
  rows: [...perps.map((one) => ({ ...one, type: "perp" })), ...spots.map((one) => ({ ...one, type: "spot" }))],
  columns: [
    table.text("Market", (one) => `${one.venue}:${one.type}:${one.symbol}`, { show: (market) => html`<${Link} href=${marketAt(market)}>${market}<//>` }),
    table.price("Price", "price"), table.usd("Open interest", "oi_usd"), table.usd("Volume, 24 h", "vol24h"), table.funding("Funding, 8 h", "funding"),
  ],
});

function Liquidations({ data }) {
  const day = data?.totals["24h"];
  return html`<section class="panel"><div class="bar-top"><h2>Newest liquidations</h2><span class="fine">${day?.long != null && html`
      <span class="down">${format.sum(day.long, data.markets, data.expected)} longs</span>, <span class="up">${format.sum(day.short, data.markets, data.expected)} shorts</span> since ${format.stamp(data.since)}`}</span></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Newest liquidations"><table><thead><tr><th scope="col" class="left">Time</th><th scope="col" class="left">Exchange</th>
      <th scope="col" class="left">Side</th><th scope="col">USD</th><th scope="col">Price</th></tr></thead>
    <tbody>${(data?.recent ?? []).slice(0, NEWEST).map((one) => html`<tr><td class="left">${format.clockSeconds(one.ts)}</td><td class="left">${one.venue}</td>
      <td class=${`left ${one.side === "long" ? "down" : "up"}`}>${one.side}</td><td>${format.usd(one.usd)}</td><td>${format.price(one.price)}</td></tr>`)}</tbody></table></div>
    ${data?.recent.length === 0 && html`<p class="none pad">None was reported in 24 hours.</p>`}</section>`;
}

function Unknown({ base }) {
  const { data } = useAnswer(`/api/search?q=${encodeURIComponent(base)}`);
  const near = (data?.coins ?? []).slice(0, 5);
  return html`<h1 class="title">No coin is called ${base}</h1><p>${near.length > 0 && html`Nearest: ${near.map((coin) => html`<${Link} href=${coinAt(coin.base)}>${coin.base}<//> `)}`}</p>
    <p><${Link} href=${pageAt("/")}>All markets<//></p>`;
}

const Fact = ({ title, children, kind }) => html`<div><dt>${title}</dt><dd class=${kind}>${children}</dd></div>`;

function Head({ base, coin }) {
  const market = coin?.market;
  const long = coin?.long_short?.binance_accounts?.long;
  const shown = (value) => format.sum(value, market?.markets, market?.expected, 4);
  return html`<div class="coinhead"><div><nav class="crumb" aria-label="Breadcrumb"><${Link} href=${pageAt("/")}>Markets<//></nav>
    <h1>${market?.base ?? base} <span class="lead">${format.price(market?.price)}</span> <small><span class=${format.tone(market?.px_24h)}>${format.change(market?.px_24h)}</span> in 24 h, USD</small></h1></div>
    <dl class="facts"><${Fact} title="Open interest">${shown(market?.oi_usd)}<//><${Fact} title="Perp volume, 24 h">${shown(market?.perp_vol24h)}<//>
      <${Fact} title="Spot volume, 24 h">${shown(market?.spot_vol24h)}<//><${Fact} title="Funding, 8 h" kind=${format.tone(market?.funding_avg)}>${format.funding(market?.funding_avg)}<//>
      <${Fact} title="Accounts long">${format.percent(long, 1)}<small>binance</small><//></dl></div>`;
}

export function View({ name: base }) {
  const [start, end, venue, table] = ["start", "end", "venue", "table"].map((choice) => chosen(choice));
  const range = chosen("range", RANGE);
  const step = chosen("step", RANGES[range] ?? "auto");
  const picked = chosen("chart", "price");
  const { data: coin, error } = useAnswer(`/api/coin/${encodeURIComponent(base)}`);
  const status = useAnswer("/api/status").data;
  const { shown, isOld, error: refusal, refusedThen } = useSeries(base, `${start && end ? `start=${start}&end=${end}` : `range=${encodeURIComponent(range)}`}&step=${encodeURIComponent(step)}`, venue, status?.as_of);
  const plots = useRef([]);
  useEffect(() => {
    document.title = `${base} · Tidemark`;
  }, [base]);
  const pick = (key) => go(withChoices({ chart: key === "price" ? null : key }));
  const zoom = (from, to) => {
    const width = shown.panes[0].answer.step;
    go(withChoices({ start: Math.floor(from / width) * width, end: Math.ceil(to / width) * width, range: null, step }));
  };
  const explanation = ({ key }, t) => explanationAt({ metric: key, base, venue, t, step: shown.step });
  if (error instanceof Refused && error.status === 404) return html`<${Unknown} base=${base} />`;
  const index = Math.max(0, CHARTS.findIndex((chart) => chart.key === picked));
  const pane = shown?.panes[index];
  const oi = shown?.panes[1].columns;
  const mixed = oi && oi[4].includes("backfilled") && oi[4].some((origin) => origin && origin !== "backfilled");
  const venues = coin?.market.venues ?? [];
  return html`<${Head} base=${base} coin=${coin} />
    <div class="controls"><div class="seg" role="group" aria-label="Range">${Object.keys(RANGES).map((one) => html`<${Choice} pressed=${!start && one === range}
        href=${withChoices({ range: one === RANGE ? null : one, step: null, start: null, end: null })}>${one}<//>`)}</div>
      <label>Step <select onChange=${(event) => go(withChoices({ step: event.target.value }))}>${["auto", ...STEPS].map((one) => html`<option value=${one} selected=${one === step}>${one}</option>`)}</select></label>
      <label>Exchange <select onChange=${(event) => go(withChoices({ venue: event.target.value || null }))}><option value="" selected=${!venue}>all</option>${
        [...new Set([...venues, ...(venue ? [venue] : [])])].map((one) => html`<option value=${one} selected=${one === venue}>${one}</option>`)}</select></label>
      <${Then} />
      ${start && html`<button type="button" class="mini" onClick=${() => go(withChoices({ start: null, end: null, step: null }))}>Whole range</button>`}
      <span class="legend"><span><i class="of-gap"></i>not recorded</span><span><i class="of-part"></i>in part</span><span><i class="of-history"></i>fetched history</span><span>Click a point: where it came from</span></span></div>
    <${Notice} error=${refusal} of="Charts" /><${Notice} error=${refusedThen} of="As known" /><${Notice} error=${error} of="Coin" />
    <div class="coin"><div class=${`panel ${isOld && shown ? "old" : ""}`} aria-busy=${isOld}>${shown
      ? html`<${Charts} panes=${shown.panes} start=${shown.start} end=${shown.end} since=${status?.recorded_since} picked=${CHARTS[index].key} onPick=${pick} onZoom=${zoom}
        onExplain=${(...point) => go(explanation(...point))} plotsRef=${plots} />`
      : html`<div class="hold stack"></div>`}${mixed && html`<p class="note"><b>Dashed is fetched history.</b> Not every exchange publishes its past open interest: sums of other
        sets of markets are two lines, and the step between them is not a change of positions.</p>`}</div>
      <aside class="panel side" aria-label="Source of the chart"><div class="seg full" role="group" aria-label="Chart">${CHARTS.map((chart) => html`<button type="button" aria-pressed=${chart.key === CHARTS[index].key}
          onClick=${() => pick(chart.key)}>${chart.title}</button>`)}</div>
        ${pane ? html`<${Definition} base=${base} metric=${pane.key} /><${Source} key=${pane.key} id="series" path=${shown.paths[index]}
          png=${() => savePng(plots.current, `${base}: ${CHARTS.map((chart) => chart.title).join(", ")}. Tidemark, ${pane.answer.source ?? ""}`, `${base}.png`)} />
          <p class="pad"><button type="button" class="mini" aria-expanded=${Boolean(table)} onClick=${() => go(withChoices({ table: table ? null : 1 }))}>Show as table</button></p><${Gaps} pane=${pane} />`
      : html`<div class="hold stack"></div>`}</aside></div>
    ${table && pane && html`<div class="below-charts"><${Values} key=${pane.key} pane=${pane} explanation=${explanation} /></div>`}
    <div class="lower"><${Venues} rows=${byVenue(coin?.market.perps ?? [])} /><${Liquidations} data=${coin?.liquidations} /></div>
    ${coin && html`<div class="below-charts"><${Table} first=${20} ...${marketTable(coin.market)} /></div>`}`;
}
