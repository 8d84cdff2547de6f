// A table that is sorted by its heads: what is sorted is in the address, so several tables of a page have a name each.
import { html, useState } from "../vendor/preact/preact.js";
import { chosen, coinAt, go, withChoices } from "./address.js";
import * as format from "./format.js";
import { Bar, Funding, Link } from "./parts.js";

const FIRST = 200; // Rows that are drawn without being asked for.

// A column: its title, `value`, by which it is sorted, and `show`, which draws the value (and may use its row).
const column = (title, value, show, more = {}) => ({
  title,
  value: typeof value === "string" ? (row) => row[value] : value,
  show,
  ...more,
});

export const text = (title, value, more) =>
  column(title, value, (said) => said ?? format.NONE, { left: true, ...more });
export const usd = (title, value, more) => column(title, value, (one) => format.usd(one), more);
export const price = (title, value, more) => column(title, value, format.price, more);
export const count = (title, value, more) => column(title, value, format.count, more);
export const number = (title, value, places = 2, more = {}) =>
  column(title, value, (one) => format.ratio(one, places), more);
export const percent = (title, value, places = 1, more = {}) =>
  column(title, value, (one) => format.percent(one, places), more);
export const change = (title, value, places = 2, more = {}) =>
  column(title, value, (one) => html`<span class=${format.tone(one)}>${format.change(one, places)}</span>`, more);
// The difference of two shares, in percentage points.
export const points = (title, value, more) =>
  column(
    title,
    value,
    (one) =>
      html`<span class=${format.tone(one)}>${one == null ? format.NONE : format.change(one, 1).replace("%", " pp")}</span>`,
    more,
  );
export const funding = (title, value, more) =>
  column(title, value, (rate) => html`<${Funding} rate=${rate} />`, { kind: "funding", ...more });
export const time = (title, value, more) => column(title, value, format.stamp, { left: true, ...more });
// A share of the whole as a bar and in words.
export const share = (title, value, more) =>
  column(title, value, (one) => html`<${Bar} share=${one} />${format.percent(one, 1)}`, {
    left: true,
    kind: "share",
    ...more,
  });
export const coin = (title = "Coin", value = "base") =>
  column(title, value, (base) => (base == null ? format.NONE : html`<${Link} href=${coinAt(base)}>${base}<//>`), {
    left: true,
  });
// A sum in which markets are missing says that it is a lower bound.
export const sum = (title, value, more) =>
  column(title, value, (one, row) => format.sum(one, row.markets, row.expected), more);

function compare(a, b, ascending) {
  if (a == null || b == null) return (a == null) - (b == null); // What is not known is last in both directions.
  if (a === b) return 0;
  return a < b === ascending ? -1 : 1;
}

// Rows in the order that the address names, else in their own.
function ordered(name, columns, rows) {
  const [table, at, direction] = chosen("sort", "").split(".");
  if (table !== name || !columns[at]) return { rows, sorted: null };
  const { value } = columns[at];
  const ascending = direction === "asc";
  return { rows: [...rows].sort((a, b) => compare(value(a), value(b), ascending)), sorted: Number(at), ascending };
}

// `name` is the table's in the address; `none` is said where there is no row. A column without a value in any row is
// left out, and a line names it. Of many rows the `first` are drawn until all are asked for; `half` the page is wide enough.
export function Table({ name, title, note, columns, rows, none, first = FIRST, half = false }) {
  const [all, setAll] = useState(false);
  const unknown = (one) => rows.length > 0 && rows.every((row) => one.value(row) == null);
  const { rows: sortedRows, sorted, ascending } = ordered(name, columns, rows);
  const left = columns.filter((one) => unknown(one) && !one.left);
  const shown = columns.map((one, at) => ({ ...one, at })).filter((one) => !left.includes(columns[one.at]));
  const next = (at) => withChoices({ sort: `${name}.${at}.${sorted === at && !ascending ? "asc" : "desc"}` });
  const sortOf = (at) => (sorted !== at ? undefined : ascending ? "ascending" : "descending");
  return html`<section class=${half ? "panel half" : "panel"}><div class="bar-top"><h2>${title} <small>${rows.length || ""}</small></h2>${note && html`<span class="fine">${note}</span>`}</div>
    ${
      rows.length > 0 &&
      html`<div class="scroll" tabindex="0" role="region" aria-label=${title}><table class="board"><thead><tr>${shown.map(
        ({ title: head, at, left: isLeft, kind, hint }) => html`
      <th scope="col" class=${[isLeft && "left", kind].filter(Boolean).join(" ")} title=${hint} aria-sort=${sortOf(at)}><button type="button" onClick=${() => go(next(at))}>${head}<i
        aria-hidden="true">${sorted === at ? (ascending ? "▲" : "▼") : ""}</i></button></th>`,
      )}</tr></thead>
    <tbody>${(all ? sortedRows : sortedRows.slice(0, first)).map(
      (row) =>
        html`<tr>${shown.map(({ value, show, left: isLeft, kind }, place) => {
          const cell = show(value(row), row);
          return place === 0
            ? html`<th scope="row">${cell}</th>`
            : html`<td class=${[isLeft && "left", kind].filter(Boolean).join(" ")}>${cell}</td>`;
        })}</tr>`,
    )}</tbody></table></div>`
    }
    ${rows.length === 0 && html`<p class="none pad">${none ?? "Nothing yet."}</p>`}
    ${left.length > 0 && html`<p class="fine pad">Left out until they have a value: ${left.map((one) => one.hint ?? one.title).join("; ")}.</p>`}
    ${!all && rows.length > first && html`<p class="pad"><button type="button" class="mini" onClick=${() => setAll(true)}>Show all ${rows.length}</button></p>`}</section>`;
}
