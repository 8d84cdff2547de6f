// What was known at an earlier time: choosing the time, asking for it, and its line beside that of now.
import { html } from "../vendor/preact/preact.js";
import { chosen, go, withChoices } from "./address.js";
import { buckets } from "./chart.js";
import * as format from "./format.js";

// What was served is kept for as long as the finest tier, in these steps.
const KEPT_MS = 7 * 86_400_000;
const KEPT_STEPS = ["5m", "15m", "1h", "4h"];
const HOUR_MS = 3_600_000;

export const knownAt = () => Number(chosen("known")) || null;

// The time of which the page shows what was known then, chosen to the minute; on the clock that the page shows.
export function Then() {
  const known = knownAt();
  const shift = (ms) => (format.inUtc() ? 0 : new Date(ms).getTimezoneOffset() * 60_000);
  const text = known && new Date(known - shift(known)).toISOString().slice(0, 16);
  const choose = (event) => {
    const ms = Date.parse(`${event.target.value}Z`);
    go(withChoices({ known: Number.isNaN(ms) ? null : ms + shift(ms) }));
  };
  return html`<label>As known at <input type="datetime-local" value=${text ?? ""} onChange=${choose} /></label>${
    known &&
    html`<button
    type="button" class="mini" onClick=${() => go(withChoices({ known: null }))}>Now alone</button>`
  }`;
}

// The request for what was known then of the range of an answer, in its step; null where it cannot be asked. `newest` is
// the time of the newest data.
export function knownPath(path, answer, newest = answer?.end) {
  const [known, step] = [knownAt(), format.stepOf(answer?.step)];
  if (!known || !KEPT_STEPS.includes(step) || !newest) return null;
  const start = Math.max(answer.start, newest - (newest % HOUR_MS) + HOUR_MS - KEPT_MS);
  const end = Math.min(answer.end, known);
  return start < end ? `${path}&start=${start}&end=${end}&step=${step}&as_known_at=${known}` : null;
}

// A pane with one more line: the values of a field as they were known then, in the buckets of the whole answer.
export function withThen(pane, whole, then, field, show = pane.tag) {
  if (!then?.t.length) return pane;
  const [, values] = buckets({ ...then, start: whole.start, end: whole.end, step: whole.step }, [field]);
  const line = { label: `as known ${format.stamp(knownAt())}`, kind: "line", ink: "down", width: 1.4, dash: [2, 3] };
  const at = (bucket) => (bucket == null ? values.findLast((value) => value != null) : values[bucket]) ?? null;
  return {
    ...pane,
    lines: pane.lines.toSpliced(-1, 0, line),
    data: pane.data.toSpliced(-1, 0, values),
    read: (bucket) => [...pane.read(bucket), ["as known", show(at(bucket)), "down"]],
  };
}
