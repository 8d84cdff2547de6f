// The home page: totals, movers, and the table of all coins.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact/preact.js";
import { chosen, coinAt, go, withChoices } from "./address.js";
import { useAnswer } from "./api.js";
import * as format from "./format.js";
import { Choice, Funding, Link, Notice, Source, Spark, Split } from "./parts.js";

const SECTION = 50; // Rows that ask for their sparklines together; the API takes at most 60.
const DRAWN = 10; // Rows that are drawn together.
const FIRST = 4; // Sections that are shown without being asked for.
const CATEGORIES = 8;
const DAY_MS = 86_400_000;

const total = (rows, value) => rows.reduce((sum, row) => (row[value] == null ? sum : (sum ?? 0) + row[value]), null);
const quotient = (a, b) => (a == null || !b ? null : a / b);

// The change from the close `days` UTC days ago; null where either is not known.
function since(closes, days) {
  const [then, now] = [closes?.at(-1 - days), closes?.at(-1)];
  return then && now != null ? now / then - 1 : null;
}

function weighted(rows, value, weight) {
  const known = rows.filter((row) => row[value] != null && row[weight]);
  return quotient(known.reduce((sum, row) => sum + row[value] * row[weight], 0), total(known, weight));
}

function Total({ title, value, children, kind }) {
  return html`<div class=${kind}><dt>${title}</dt><dd class="value">${value}</dd><dd class="sub">${children}</dd></div>`;
}

function Totals({ coins, liquidations, status }) {
  if (!coins) return html`<div class="totals hold"></div>`;
  const counted = coins.filter((coin) => !coin.hip3);
  const btc = counted.find((coin) => coin.base === "BTC");
  const [oi, perp, spot] = ["oi_usd", "perp_vol24h", "spot_vol24h"].map((name) => total(counted, name));
  const [markets, expected] = ["markets", "expected"].map((name) => total(counted, name));
  const share = (name, whole) => (btc?.[name] != null && whole ? `BTC ${format.percent(btc[name] / whole, 0)}` : "");
  const perps = counted.reduce((sum, coin) => sum + coin.perps.length, 0);
  const rate = weighted(counted, "funding_avg", "oi_usd");
  const day = liquidations?.totals["24h"];
  const whole = liquidations && status && liquidations.server_ts - Math.max(liquidations.since, status.recorded_since) >= DAY_MS - 60_000;
  const [long, short] = [day?.long, day?.short];
  return html`<dl class="totals">
    <${Total} title="Open interest" value=${format.sum(oi, markets, expected, 4)}>${share("oi_usd", oi)}, ${format.count(perps)} perps<//>
    <${Total} title="Perp volume, 24 h" value=${format.sum(perp, markets, expected, 4)}>${share("perp_vol24h", perp)}<//>
    <${Total} title="Spot volume, 24 h" value=${format.sum(spot, markets, expected, 4)}>${share("spot_vol24h", spot)}<//>
    <${Total} title="Perp ÷ spot" value=${format.ratio(quotient(perp, spot), 2)}>by volume<//>
    <${Total} title="Mean funding, 8 h" value=${format.funding(rate)}>${format.yearly(rate)} a year<span class="wide">, by open interest</span><//>
    <${Total} kind="liquidated" title=${`Liquidations${!liquidations || whole ? ", 24 h" : ` since ${format.clock(liquidations.since)}`}`}
      value=${long == null ? format.NONE : format.sum(long + short, liquidations.markets, liquidations.expected)}>${long != null && html`<${Split} long=${long} short=${short} />
      <span class="down">${format.usd(long)} longs</span><span class="up">${format.usd(short)} shorts</span>`}<//></dl>`;
}

const MOVERS = [
  ["price", "Price, 24 h", ["Highest change, 24 h", "up", format.change], ["Lowest change, 24 h", "down", format.change]],
  ["oi", "Open interest, 24 h", ["Open interest, 24 h", "up", format.change]],
  ["long_short", "Long/short, 24 h", []],
  ["funding", "Funding", ["Highest funding, 8 h", "up", format.funding], ["Lowest funding, 8 h", "down", format.funding]],
  ["liquidations", "Liquidations", ["Most liquidated", "up", format.usd]],
];
const LISTS = 6;

function Movers({ answer }) {
  const sections = answer.data?.sections;
  if (!sections) return answer.error ? null : html`<div class="movers hold"></div>`;
  const lists = MOVERS.flatMap(([name, , ...lists]) => sections[name].unavailable ? [] :
    lists.filter((list) => list.length).map(([title, side, show]) => [title, sections[name][side] ?? [], show, name]));
  const waiting = MOVERS.filter(([name]) => sections[name].unavailable);
  return html`<div class="movers" tabindex="0" role="region" aria-label="Movers">${lists.slice(0, waiting.length ? LISTS - 1 : LISTS).map(([title, rows, show, name]) => html`
    <section><h2>${title}</h2><ol>${rows.map((row) => html`<li><${Link} href=${coinAt(row.base)}>${row.base}<//>
      <span class="on">${name === "liquidations" ? "" : row.venue}</span><span class=${name === "liquidations" ? "" : format.tone(row.value)}>${show(row.value)}</span></li>`)}</ol></section>`)}${
    waiting.length > 0 && html`<section class="waiting"><h2>Not yet known</h2><dl>${waiting.map(([name, title]) => html`
      <div><dt>${title}</dt><dd>${sections[name].unavailable}</dd></div>`)}</dl></section>`}</div>`;
}

const toned = (value, places) => html`<span class=${format.tone(value)}>${format.change(value, places)}</span>`;
// The columns: title, how a row's value is shown, and `by`, the value that sorts it, where the whole table has that.
const COLUMNS = [
  { key: "price", title: "Price", by: (row) => row.lead?.price, show: (row) => format.price(row.lead?.price), kind: "strong",
    hint: "Of the perp with the highest open interest" },
  { key: "px_1h", title: "1 h", by: (row) => row.lead?.px_1h, show: (row) => toned(row.lead?.px_1h) },
  { key: "px_24h", title: "24 h", by: (row) => row.lead?.px_24h, show: (row) => toned(row.lead?.px_24h) },
  { key: "px_7d", title: "7 d", show: (row, closes) => toned(since(closes, 7), 1), hint: "From the close seven UTC days ago", kind: "change" },
  { key: "px_30d", title: "30 d", show: (row, closes) => toned(since(closes, 30), 1), hint: "From the close thirty UTC days ago", kind: "change" },
  { key: "course", title: "Price, 30 d", show: (row, closes) => html`<${Spark} values=${closes} />`, kind: "left course" },
  { key: "oi_usd", title: "Open interest", by: (row) => row.oi_usd, show: (row) => format.sum(row.oi_usd, row.markets, row.expected) },
  { key: "oi_24h", title: "24 h", by: (row) => row.oi_24h, show: (row) => toned(row.oi_24h, 1), hint: "Change of open interest in 24 hours" },
  { key: "perp_vol24h", title: "Perp volume, 24 h", by: (row) => row.perp_vol24h, show: (row) => format.sum(row.perp_vol24h, row.markets, row.expected) },
  { key: "ratio", title: "Perp ÷ spot", by: (row) => quotient(row.perp_vol24h, row.spot_vol24h),
    show: (row) => format.ratio(quotient(row.perp_vol24h, row.spot_vol24h)), hint: "Perp volume divided by spot volume" },
  { key: "funding_avg", title: "Funding, 8 h", by: (row) => row.funding_avg, show: (row) => html`<${Funding} rate=${row.funding_avg} />`, kind: "funding" },
  { key: "funding_spread", title: "Spread", by: (row) => row.funding_spread, show: (row) => format.percent(row.funding_spread, 3),
    hint: "Highest less lowest funding among its perps" },
  { key: "liquidated", title: "Liquidated", by: (row) => row.liquidated, kind: "liquidated", hint: "Longs and shorts that exchanges reported in up to 24 hours",
    show: (row) => row.liquidated ? html`${format.sum(row.liquidated, row.liquidations.markets, row.liquidations.expected)}
      <${Split} ...${row.liquidations["24h"]} />` : row.liquidated === 0 ? "$0" : format.NONE },
  { key: "venues", title: "Venues", by: (row) => row.venues.length, show: (row) => row.venues.length, hint: "Exchanges that list it" },
];
const SORTED = "perp_vol24h";

function rowsOf(coins, liquidations) {
  const byBase = new Map((liquidations?.coins ?? []).map((coin) => [coin.base, coin]));
  return coins.map((coin) => {
    const liquidated = byBase.get(coin.base);
    const { long, short } = liquidated?.["24h"] ?? {};
    return { ...coin, lead: coin.perps[0] ?? coin.spots[0], liquidations: liquidated, liquidated: long == null ? null : long + short };
  });
}

// The names that most coins have.
function categories(coins) {
  const counts = new Map();
  for (const name of coins.flatMap((coin) => coin.cat)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, CATEGORIES).map(([name]) => name);
}

function compare(a, b, ascending) {
  if (a == null || b == null) return (a == null) - (b == null); // What is not known is last in both directions.
  const order = a < b ? -1 : a > b ? 1 : 0;
  return ascending ? order : -order;
}

// A few rows. Of a long table (`far` may be blank) only those near the view are in the page: a browser cannot scroll
// thousands at 60 frames a second, and more than these few take longer than a frame to draw.
function Rows({ rows, columns, courses, first, far, onNear }) {
  const body = useRef();
  const height = useRef(0);
  const [near, setNear] = useState(first);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      height.current = body.current.offsetHeight;
      setNear(entry.isIntersecting);
      if (entry.isIntersecting) onNear();
    }, { rootMargin: far ? "600px" : "400px" });
    observer.observe(body.current);
    return () => observer.disconnect();
  }, [far]);
  if (far && !near) {
    const tall = height.current || rows.length * (document.querySelector(".markets tbody tr")?.offsetHeight ?? 0);
    return html`<tbody ref=${body}><tr><td colspan=${columns.length + 1} style=${{ height: `${tall}px` }}></td></tr></tbody>`;
  }
  return html`<tbody ref=${body}>${rows.map((row) => html`<tr key=${row.base}>
    <th scope="row"><${Link} href=${coinAt(row.base)}>${row.base}<//></th>
    ${columns.map((column) => html`<td class=${column.kind}>${column.show(row, courses[row.base])}</td>`)}</tr>`)}</tbody>`;
}

// Rows whose sparklines are asked for when one of them is in view.
function Section({ rows, first, ...rest }) {
  const [seen, setSeen] = useState(first);
  const asked = rows.map((row) => encodeURIComponent(row.base)).sort().join(",");
  // Those of rows that have moved here stay until the section's own have arrived.
  const courses = useRef({});
  Object.assign(courses.current, useAnswer(seen ? `/api/sparklines?range=30d&c=${asked}` : null).data?.series);
  return parts(rows, DRAWN).map((some, index) => html`<${Rows} key=${index} rows=${some} courses=${courses.current} first=${first}
    onNear=${() => setSeen(true)} ...${rest} />`);
}

const parts = (rows, size) =>
  Array.from({ length: Math.ceil(rows.length / size) }, (_, index) => rows.slice(index * size, (index + 1) * size));

function Markets({ answer, liquidations, status }) {
  const [source, setSource] = useState(chosen("source") === "1");
  const [all, setAll] = useState(false);
  // A browser that may choose the widths looks at every row again when one comes into view.
  const [widths, setWidths] = useState([]);
  const grid = useRef();
  const showAll = () => {
    const heads = [...grid.current.querySelectorAll("thead th")].map((one) => one.offsetWidth);
    setWidths(heads.map((width) => `${(100 * width) / grid.current.offsetWidth}%`));
    setAll(true);
  };
  const [sort, ascending, category, hip3] = [chosen("sort", SORTED), chosen("dir") === "asc", chosen("cat"), chosen("hip3") === "1"];
  const coins = answer.data?.coins;
  const rows = useMemo(() => rowsOf(coins ?? [], liquidations), [coins, liquidations]);
  const choices = useMemo(() => categories(coins ?? []), [coins]);
  const shown = useMemo(() => {
    const by = sort === "base" ? (row) => row.base : COLUMNS.find((column) => column.key === sort)?.by ?? ((row) => row.perp_vol24h);
    return rows
      .filter((row) => (hip3 || !row.hip3) && (!category || row.cat.includes(category)))
      .sort((a, b) => compare(by(a), by(b), ascending));
  }, [rows, sort, ascending, category, hip3]);
  // Liquidations are another answer, which may still be under way.
  const isKnown = (column) => column.by && rows.length > 0 && (column.key !== "liquidated" || liquidations);
  const empty = COLUMNS.filter((column) => isKnown(column) && !rows.some((row) => column.by(row) != null));
  const columns = COLUMNS.filter((column) => !empty.includes(column));
  const sections = parts(shown, SECTION);
  const isFixed = widths.length === columns.length + 1;
  const sortBy = (key) => go(withChoices({ sort: key === SORTED ? null : key, dir: sort === key && !ascending ? "asc" : null }));
  const head = ({ key, title, hint, kind, by }) => html`<th scope="col" class=${kind} title=${hint}
    aria-sort=${sort === key ? (ascending ? "ascending" : "descending") : undefined}>${by
    ? html`<button type="button" onClick=${() => sortBy(key)}>${title}<i aria-hidden="true">${sort === key ? (ascending ? "▲" : "▼") : ""}</i></button>`
    : title}</th>`;
  return html`<section class="panel"><div class="bar-top"><h2>Markets <small>${coins ? shown.length : ""}</small></h2>
      <div class="chips" role="group" aria-label="Category"><${Choice} pressed=${!category} href=${withChoices({ cat: null })}>All<//>${
        choices.map((name) => html`<${Choice} pressed=${category === name} href=${withChoices({ cat: category === name ? null : name })}>${name}<//>`)}</div>
      <label class="check"><input type="checkbox" checked=${hip3} onChange=${(event) => go(withChoices({ hip3: event.target.checked ? 1 : null }))} />HIP-3</label>
      <button type="button" class="mini" aria-expanded=${source} onClick=${() => setSource(!source)}>Source</button></div>
    ${source && html`<div class="below"><${Source} id="markets" path="/api/markets" rows="coins" forms />
      <p class="fine">One request has every coin and market of the newest minute. Sorting and filters are the page's, and are in its address.
      Liquidations are of <a href="/api/liquidations">/api/liquidations</a>, closes of <a href="/api/sparklines?range=30d">/api/sparklines</a>.</p></div>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table of markets"><table ref=${grid} class=${isFixed ? "markets fixed" : "markets"}>
      ${isFixed && html`<colgroup>${widths.map((width) => html`<col style=${{ width }} />`)}</colgroup>`}
      <thead><tr>${head({ key: "base", title: "Coin", by: true })}${columns.map(head)}</tr></thead>
      ${(all ? sections : sections.slice(0, FIRST)).map((part, index) => html`<${Section} key=${index} rows=${part} columns=${columns} first=${index === 0} far=${all} />`)}</table></div>
    ${!coins && !answer.error && html`<div class="hold tall"><p class="none pad">Reading the markets…</p></div>`}
    ${coins && shown.length === 0 && html`<p class="none pad">No coin is in this choice.</p>`}
    ${!all && sections.length > FIRST && html`<p class="pad"><button type="button" class="mini" onClick=${showAll}>Show all ${shown.length}</button></p>`}
    ${coins && html`<p class="fine pad">${empty.length > 0 && html`<b>Left out until they have a value: ${empty.map((column) => column.hint ?? `${column.title} change`).join("; ")}.</b> `}${
      status && status.as_of - status.recorded_since < DAY_MS ? `Recording began on ${format.stamp(status.recorded_since)} ${format.zoneName()}; what is older is the exchanges' own history. ` : ""}Open interest is one side. Funding is put on
      8 hours and weighted by open interest. ≥ is a sum in which markets are missing; some exchanges publish only a sample of their liquidations.</p>`}</section>`;
}

export function View() {
  const status = useAnswer("/api/status").data;
  const markets = useAnswer("/api/markets");
  const movers = useAnswer("/api/market-movers");
  const liquidations = useAnswer("/api/liquidations");
  useEffect(() => {
    document.title = "Markets · Tidemark";
  }, []);
  const nothing = markets.error && !markets.data;
  return html`<h1 class="sr">Markets</h1>
    <${Notice} error=${markets.error} of="Markets" /><${Notice} error=${movers.error} of="Movers" /><${Notice} error=${liquidations.error} of="Liquidations" />
    ${nothing ? null : html`<${Totals} coins=${markets.data?.coins} liquidations=${liquidations.data} status=${status} />
    <${Movers} answer=${movers} /><${Markets} answer=${markets} liquidations=${liquidations.data} status=${status} />`}`;
}
