// The page of one market: its series on one time axis, and what kind of contract it is.
import { html } from "../vendor/preact/preact.js";
import { coinAt, pageAt } from "./address.js";
import { Board } from "./board.js";
import { candles } from "./candles.js";
import { buckets, negated } from "./chart.js";
import { choice, pane, STEP_OF } from "./declare.js";
import * as format from "./format.js";
import { knownPath, withThen } from "./known.js";
import { Link } from "./parts.js";
import * as table from "./table.js";

const METRICS = { perp: ["volume", "oi", "funding", "liquidations"], spot: ["volume"] };
const metricsOf = (market, drawn) => [drawn === "candles" ? "candles" : "price", ...METRICS[market.split(":")[1]]].join();
// The field whose values of then are drawn, of those with several.
const FIELD = { liquidations: "short", candles: "close" };
const size = (value) => format.usd(value == null ? null : Math.abs(value));

// Each metric's pane: its title, its unit, and its lines of the values of its fields.
const PANES = {
  price: (values) => ["Price", "quote currency", [["price", "price", values.v]], format.price, format.priceTick],
  volume: (values) => ["Volume", "USD", [["volume", "oi", values.v, "bars"]], format.usd, format.usdTick],
  oi: (values) => ["Open interest", "USD, one side", [["open interest", "oi", values.v]], format.usd, format.usdTick],
  funding: (values) => ["Funding", "per 8 hours", [["funding", "up", values.v]], format.funding, format.fundingTick],
  liquidations: (values) => [
    "Liquidations",
    "USD, shorts above, longs below",
    [
      ["shorts", "up", values.short, "bars"],
      ["longs", "down", negated(values.long), "bars"],
    ],
    size,
    (value, increment) => format.usdTick(Math.abs(value), increment),
  ],
};

function paneOf(answer, metric, market) {
  const own = answer.series[metric];
  const [times, ...columns] = buckets({ ...answer, ...own }, own.fields);
  const values = Object.fromEntries(own.fields.map((field, place) => [field, columns[place]]));
  const step = format.stepOf(answer.step);
  const more = { gaps: own.gaps, explain: { metric, market, step } };
  if (metric === "candles") return candles(metric, "Price", "quote currency, traded", [times, ...columns], more);
  const [title, unit, lines, show, tick] = PANES[metric](values);
  return pane(metric, title, unit, times, lines, show, { tick, ...more });
}

const LEFT_OUT = {
  premiums: "of an exchange that is recorded for premiums alone",
  structured: "a structured token",
  hip3: "a builder's market",
  unlisted: "not in the exchange's list",
  quote: "its quote is not a dollar",
  options: "of an exchange that is recorded for options alone",
};
const said = (value) => (value == null ? format.NONE : String(value));

function facts(one) {
  const intervals = one.funding_intervals.at(-1);
  return [
    ["Coin", html`<${Link} href=${coinAt(one.base)}>${one.base}<//>`],
    ["Counted in the coin's sums", one.aggregated ? "yes" : `no: ${LEFT_OUT[one.left_out] ?? said(one.left_out)}`],
    ["Quote, settled in", [one.quote, one.settle].filter(Boolean).join(", ")],
    ["Kind of contract", one.type === "spot" ? "spot" : `${said(one.contract_type)}${one.inverse ? ", inverse" : ""}`],
    ["Contract size", said(one.contract_size)],
    ["Coins per unit of the symbol", said(one.multiplier)],
    ["Hours between funding payments", said(intervals?.interval_h)],
    ["State", said(one.status)],
    ["Listed", format.stamp(one.listed_ms)],
    ["Delisted", format.stamp(one.delisted_ms)],
    ["First and newest minute", format.span(one.first_ms, one.last_ms)],
    ["At the exchange", one.url ? html`<a href=${one.url} rel="noreferrer">${one.url}</a>` : format.NONE],
  ].map(([fact, value]) => ({ fact, value }));
}

const market = {
  title: (name) => name,
  about: html`One market alone. <${Link} href=${pageAt("/catalog")}>What the metrics mean<//>`,
  names: { series: "Series", instrument: "Contract", then: "As known" },
  then: true,
  rows: { series: null, instrument: "instruments" },
  choices: [choice("drawn", "Price as", ["line", "candles"]), choice("range", "Range", Object.keys(STEP_OF), "7d")],
  requests: {
    series: ({ range, drawn }, name) =>
      `/api/series?m=${metricsOf(name, drawn)}&market=${encodeURIComponent(name)}&range=${encodeURIComponent(range)}&step=${STEP_OF[range] ?? "auto"}`,
    instrument: (_, name) => `/api/instruments?market=${encodeURIComponent(name)}`,
    then: ({ drawn }, name, { series }) =>
      knownPath(`/api/series?m=${metricsOf(name, drawn)}&market=${encodeURIComponent(name)}`, series),
  },
  charts: ({ series, then }, _, name) =>
    series && {
      start: series.start,
      end: series.end,
      panes: Object.keys(series.series).map((metric) => {
        const before = then && { ...then, ...then.series[metric] };
        return withThen(paneOf(series, metric, name), series, before, FIELD[metric] ?? "v");
      }),
    },
  tables: ({ instrument }) =>
    (instrument?.instruments ?? []).map((one) => ({
      name: "contract",
      title: "The contract",
      note: "as the exchange states it now",
      rows: facts(one),
      columns: [
        table.text("Fact", "fact"),
        table.text("Value", "value", {
          value: (row) => (typeof row.value === "string" ? row.value : ""),
          show: (_, row) => row.value,
        }),
      ],
    })),
};

export const View = ({ name }) => html`<${Board} board=${market} name=${name} />`;
