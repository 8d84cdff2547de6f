// The page of one metric of a coin: its sum or mean, and the same of each exchange, on one time axis, what was known of it
// at an earlier time, and how far it is from what the exchanges publish afterwards.
import { html } from "../vendor/preact/preact.js";
import { coinAt, explanationAt, pageAt } from "./address.js";
import { useAnswer } from "./api.js";
import { Board } from "./board.js";
import { buckets, isFetched } from "./chart.js";
import { STEP_OF } from "./declare.js";
import * as format from "./format.js";
import { knownPath, withThen } from "./known.js";
import { Link, Notice } from "./parts.js";
import * as table from "./table.js";

const COMPARED = ["price", "volume", "oi", "funding", "liquidations"];
const last = (values, index) => (index == null ? values.findLast((value) => value != null) : values[index]) ?? null;

// Where the answer says which values are fetched history, these are dashed, and a sum in which markets are missing is ≥.
function ofOneField(key, title, unit, answer, [field], [show, tick], gaps) {
  const [times, values, n, expected, origin] = buckets(answer, [field, "n", "expected", "origin"]);
  const where = (isHistory) =>
    values.map((value, index) => (isFetched(origin[index], n[index], expected[index]) === isHistory ? value : null));
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
  const say = format.sayers(metric, unit);
  const path = ({ range }) =>
    `/api/series/${metric}?base=${encodeURIComponent(base)}&range=${encodeURIComponent(range)}&step=${STEP_OF[range] ?? "auto"}&coverage=1`;
  const byVenue = known.selectors.includes("base");
  const compared = COMPARED.includes(metric);
  const explain = ({ step }, venue) => ({ metric, base: byVenue ? base : null, venue, step: format.stepOf(step) });
  const ofVenue = ({ t, step, start, end, gaps }, venue, arrays) => ({
    ...pane(venue, venue, "", { ...arrays, t, step, start, end }, fields, say, gapsOf(gaps, venue)),
    explain: explain({ step }, venue),
  });
  return {
    title: `${base}: ${title}`,
    about: html`${known.description} <${Link} href=${pageAt(`/catalog/${metric}`)}>Formula and caveats<//>, <${Link}
      href=${coinAt(base)}>${base}<//>`,
    requests: {
      whole: path,
      ...(byVenue && { venues: (choices) => `${path(choices)}&by=venue` }),
      ...(compared && { accuracy: () => `/api/accuracy?metric=${metric}&window=30d` }),
      then: (_, __, { whole }) =>
        known.known_later && knownPath(`/api/series/${metric}?base=${encodeURIComponent(base)}`, whole),
    },
    names: { whole: title, venues: "By exchange", accuracy: "Accuracy", then: "As known" },
    choices: [{ name: "range", label: "Range", values: Object.keys(STEP_OF), otherwise: "7d" }],
    then: known.known_later,
    charts: ({ whole, venues, then: before }) =>
      whole &&
      whole.t.length > 0 && {
        start: whole.start,
        end: whole.end,
        panes: [
          {
            ...withThen(pane("whole", title, unit, whole, fields, say, whole.gaps), whole, before, fields[0]),
            explain: explain(whole),
          },
          ...Object.entries(venues?.venues ?? {}).map(([venue, arrays]) => ofVenue(venues, venue, arrays)),
        ],
      },
    tables: ({ venues, accuracy }) => [
      ...(venues?.venues ? [ofVenues(venues, accuracy, fields, title, say[0])] : []),
      ...(accuracy ? [differences(accuracy, metric, say[0])] : []),
    ],
  };
}

// The newest value of each exchange, and how far its values were from its own history on the last day compared.
function ofVenues({ venues }, accuracy, fields, title, show) {
  const compared = Object.fromEntries((accuracy?.rows ?? []).toReversed().map((row) => [row.venue, row]));
  return {
    name: "venues",
    title: "By exchange",
    note: "newest bucket with a value",
    rows: Object.entries(venues).map(([venue, arrays]) => ({
      venue,
      median: compared[venue]?.median_difference,
      ...Object.fromEntries(fields.map((field) => [field, last(arrays[field], null)])),
    })),
    columns: [
      table.text("Exchange", "venue"),
      ...fields.map((field) => ({
        title: fields.length > 1 ? field : title,
        value: (row) => row[field],
        show,
      })),
      table.percent("From its own history, median", "median", 4),
    ],
  };
}

// What was recorded against what the exchange says of the same time; the greatest difference of a day is explained.
function differences({ rows }, metric, show) {
  const explanation = ({ worst_market: market, worst_ms: t }) => explanationAt({ metric, market, t });
  return {
    name: "accuracy",
    title: "Against the exchanges' own history",
    note: "recorded values and those that an exchange publishes of the same time afterwards; 30 days",
    none: "Nothing is compared yet: the first whole recorded day is, once it has ended.",
    first: 30,
    rows,
    columns: [
      table.text("Day", "day"),
      table.text("Exchange", "venue"),
      table.count("Compared", "n"),
      table.percent("Median", "median_difference", 4),
      table.percent("99th percentile", "p99_difference", 3),
      table.percent("Greatest", "worst_difference", 3),
      table.text("There", "worst_market", {
        show: (market, row) => html`<${Link} href=${explanation(row)}>${market}<//>, ${format.stamp(row.worst_ms)}`,
      }),
      { title: "Recorded", value: (row) => row.worst_recorded, show },
      { title: "Published", value: (row) => row.worst_published, show },
      table.count("Minutes missing", "minutes_missing"),
    ],
  };
}

export function View({ name: base, part }) {
  const { data, error } = useAnswer("/api/metrics");
  const known = data?.metrics.find((one) => one.metric === part || one.aliases.includes(part));
  if (!data && error) return html`<h1 class="title">${base}: ${part}</h1><${Notice} error=${error} of="Metrics" />`;
  if (!data) return html`<div class="hold tall"></div>`;
  if (!known)
    return html`<h1 class="title">No metric is called ${part}</h1><p><${Link} href=${pageAt("/catalog")}>All metrics<//></p>`;
  if (known.selectors.join() === "market")
    return html`<h1 class="title">${base}: ${known.title}</h1><p>${known.title} are of one market. <${Link} href=${coinAt(base)}>${base}<//>
      lists its markets.</p>`;
  return html`<${Board} board=${boardOf(base, known)} name=${base} />`;
}
