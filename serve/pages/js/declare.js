// What declarations of pages share: choices, requests, and charts of lines.
import { buckets } from "./chart.js";
import * as format from "./format.js";

export const always = (path) => () => path;
export const rate = (value) => format.percent(value, 1);
export const index = (value) => (value == null ? format.NONE : value.toFixed(1));
export const at = (values, bucket) =>
  (bucket == null ? values.findLast((value) => value != null) : values[bucket]) ?? null;
export const choice = (name, label, values, otherwise = values[0]) => ({ name, label, values, otherwise });
export const COIN = choice("c", "Coin", ["BTC", "ETH", "SOL", "XRP"]);
export const RANGE = choice("range", "Range", ["1d", "7d", "30d", "90d"], "7d");
// The step of a range that is not chosen by itself.
export const STEP_OF = { "1d": "5m", "7d": "1h", "30d": "1h", "90d": "4h", "1y": "1d" };

// A chart of lines over the same times. `show` says a value, `lines` are [label, colour, values, kind].
export function pane(key, title, unit, times, lines, show, more = {}) {
  return {
    key,
    title,
    unit,
    gaps: [],
    colour: lines.at(-1)[1],
    tag: show,
    tick: show,
    lines: lines.map(([label, ink, , kind = "line"]) =>
      kind === "bars" ? { label, kind, fill: ink, ink, width: 0 } : { label, kind, ink, dots: times.length < 40 },
    ),
    data: [times, ...lines.map(([, , values]) => values)],
    read: (bucket) =>
      lines.map(([label, ink, values]) => [lines.length > 1 ? label : "", show(at(values, bucket)), `ink-${ink}`]),
    ...more,
  };
}

// The charts of an answer that has the shape of a series.
export const charted = (answer, panes) =>
  answer && answer.t.length > 0 && { start: answer.start, end: answer.end, panes: panes(answer) };

// The request of a metric of the chosen coin and range.
export const series =
  (metric) =>
  ({ c, range }) =>
    `/api/series/${metric}?base=${encodeURIComponent(c)}&range=${range}&step=${STEP_OF[range] ?? "auto"}`;

// The page that the address names, of those that a module declares.
export const boardAt = (boards) => boards[`/${location.pathname.split("/")[1]}`];

export { buckets };
