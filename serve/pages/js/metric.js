// The page of one metric of a coin: its sum or mean, and the same of each exchange, on one time axis.
import { html } from "../vendor/preact/preact.js";
import { coinAt, pageAt } from "./address.js";
import { useAnswer } from "./api.js";
import { Board } from "./board.js";
import { buckets } from "./chart.js";
import * as format from "./format.js";
import { Link, Notice } from "./parts.js";
import * as table from "./table.js";

const STEP_OF = { "1d": "5m", "7d": "1h", "30d": "1h", "90d": "4h", "1y": "1d" };
const last = (values, index) => (index == null ? values.findLast((value) => value != null) : values[index]) ?? null;

// How a unit of /api/metrics is said, and a tick of its axis.
function sayers(metric, unit) {
  if (metric === "price") return [format.price, format.priceTick];
  if (unit.includes("fraction per 8 hours")) return [format.funding, format.fundingTick];
  if (unit.startsWith("fraction")) return [(value) => format.change(value, 3), format.fundingTick];
  const ratio = (value) => format.ratio(value, 3);
  return unit.startsWith("ratio") ? [ratio, ratio] : [(value) => format.usd(value, 4), format.usdTick];
}

// Where the answer says which values are fetched history, these are dashed, and a sum in which markets are missing is ≥.
function ofOneField(key, title, unit, answer, [field], [show, tick], gaps) {
  const [times, values, n, expected, origin] = buckets(answer, [field, "n", "expected", "origin"]);
  const where = (isHistory) =>
    values.map((value, index) => ((origin[index] === "backfilled") === isHistory ? value : null));
  const missing = (index) => n[index] != null && expected[index] != null && n[index] < expected[index];
  const recorded = where(false);
  const few = recorded.filter((value) => value != null).length <= 3;
  return {
    key,
    title,
    unit,
    gaps,
    colour: "oi",
    tag: show,
    tick,
    data: [times, where(true), recorded, values],
    lines: [
      { label: "fetched history", kind: "line", ink: "oi", dash: [4, 3] },
      { label: "recorded", kind: "line", ink: "oi", width: 1.7, dots: few },
      { label: title, ink: null, width: 0 },
    ],
    read: (index) => {
      const bucket = index ?? values.findLastIndex((value) => value != null);
      const isSum = missing(bucket) && values[bucket] != null;
      return [
        ["", (isSum ? "≥ " : "") + show(values[bucket] ?? null)],
        ...(isSum ? [["", `${n[bucket]} of ${expected[bucket]} markets`, "quiet-read"]] : []),
      ];
    },
  };
}

function ofFields(key, title, unit, answer, fields, [show, tick], gaps) {
  const [times, ...values] = buckets(answer, fields);
  const inks = fields.length > 1 ? ["up", "down", "oi"] : ["oi"];
  return {
    key,
    title,
    unit,
    gaps,
    colour: inks[fields.length - 1],
    tag: show,
    tick,
    data: [times, ...values],
    lines: fields.map((field, place) => ({
      label: fields.length > 1 ? field : title,
      kind: "line",
      ink: inks[place],
      dots: times.length < 40,
    })),
    read: (index) => fields.map((field, place) => [fields.length > 1 ? field : "", show(last(values[place], index))]),
  };
}

const pane = (key, title, unit, answer, fields, ...more) =>
  (fields.length > 1 ? ofFields : ofOneField)(key, title, unit, answer, fields, ...more);

// Of the exchange alone its own gap is all that there is; a part stays a part.
const gapsOf = (gaps, venue) =>
  gaps
    .filter((gap) => gap.venue == null || gap.venue === venue)
    .map((gap) => (gap.reason === "partial" ? gap : { ...gap, venue: null }));

function boardOf(base, known) {
  const { metric, title, unit, fields } = known;
  const say = sayers(metric, unit);
  const path = ({ range }) =>
    `/api/series/${metric}?base=${encodeURIComponent(base)}&range=${encodeURIComponent(range)}&step=${STEP_OF[range] ?? "auto"}&coverage=1`;
  const byVenue = known.selectors.includes("base");
  const ofVenue = ({ t, step, start, end, gaps }, venue, arrays) =>
    pane(venue, venue, "", { ...arrays, t, step, start, end }, fields, say, gapsOf(gaps, venue));
  return {
    title: `${base}: ${title}`,
    about: html`${known.description} <${Link} href=${pageAt(`/catalog/${metric}`)}>Formula and caveats<//>, <${Link}
      href=${coinAt(base)}>${base}<//>`,
    requests: { whole: path, ...(byVenue && { venues: (choices) => `${path(choices)}&by=venue` }) },
    names: { whole: title, venues: "By exchange" },
    choices: [{ name: "range", label: "Range", values: Object.keys(STEP_OF), otherwise: "7d" }],
    charts: ({ whole, venues }) =>
      whole &&
      whole.t.length > 0 && {
        start: whole.start,
        end: whole.end,
        panes: [
          pane("whole", title, unit, whole, fields, say, whole.gaps),
          ...Object.entries(venues?.venues ?? {}).map(([venue, arrays]) => ofVenue(venues, venue, arrays)),
        ],
      },
    tables: ({ venues }) =>
      venues?.venues
        ? [
            {
              name: "venues",
              title: "By exchange",
              note: "newest bucket with a value",
              rows: Object.entries(venues.venues).map(([venue, arrays]) => ({
                venue,
                ...Object.fromEntries(fields.map((field) => [field, last(arrays[field], null)])),
              })),
              columns: [
                table.text("Exchange", "venue"),
                ...fields.map((field) => ({
                  title: fields.length > 1 ? field : title,
                  value: (row) => row[field],
                  show: say[0],
                })),
              ],
            },
          ]
        : [],
  };
}

export function View({ name: base, part }) {
  const { data, error } = useAnswer("/api/metrics");
  const known = data?.metrics.find((one) => one.metric === part || one.aliases.includes(part));
  if (!data && error) return html`<h1 class="title">${base}: ${part}</h1><${Notice} error=${error} of="Metrics" />`;
  if (!data) return html`<div class="hold tall"></div>`;
  if (!known)
    return html`<h1 class="title">No metric is called ${part}</h1><p><${Link} href=${pageAt("/catalog")}>All metrics<//></p>`;
  return html`<${Board} board=${boardOf(base, known)} name=${base} />`;
}
