// The page of what was recorded: a calendar of exchanges and days; an exchange opens to its kinds of data, a day to its
// minutes.
import { html, useEffect, useRef, useState } from "../vendor/preact/preact.js";
import { chosen, go, withChoices } from "./address.js";
import { useAnswer } from "./api.js";
import * as format from "./format.js";
import { Choice, Link, Notice, Source } from "./parts.js";
import { Table, text as words } from "./table.js";

const WINDOWS = ["30d", "90d", "365d"];
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
const KINDS = ["recorded", "partial", "venue_error", "venue_unreachable", "not_recorded"];
const SAID = {
  recorded: "recorded",
  partial: "in part",
  venue_error: "exchange answered with an error",
  venue_unreachable: "exchange unreachable",
  not_recorded: "no request",
};

// The days of the window, also those before anything was recorded.
function allDays(times, window) {
  const length = times.length ? Math.max(times.length, Number.parseInt(window, 10)) : 0;
  return Array.from({ length }, (_, day) => times.at(-1) - (length - 1 - day) * DAY_MS);
}

// The rows with a value for each of these days: null where the answer has none.
function padded(data, length) {
  const before = Array(Math.max(0, length - (data?.t.length ?? 0))).fill(null);
  return (data?.rows ?? []).map((row) => ({
    ...row,
    ...Object.fromEntries(["minutes", ...KINDS].map((field) => [field, [...before, ...row[field]]])),
  }));
}

// The sums of several kinds of data, day by day: null where none had begun.
function together(rows, days) {
  const add = (field) =>
    days.map((_, day) => {
      const known = rows.map((row) => row[field][day]).filter((value) => value != null);
      return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
    });
  return Object.fromEntries(["minutes", ...KINDS].map((field) => [field, add(field)]));
}

const shareOf = (row, day) => (row.minutes[day] ? row.recorded[day] / row.minutes[day] : null);
// Whole, nearly, in part, hardly, not: the last two are what a reader looks for.
const degree = (share) =>
  share == null ? "none" : share >= 0.9995 ? 4 : share >= 0.98 ? 3 : share >= 0.75 ? 2 : share > 0 ? 1 : 0;

function said(row, day, time) {
  if (row.minutes[day] == null) return `${format.day(time)}: not begun`;
  const parts = KINDS.filter((kind) => row[kind][day] > 0).map(
    (kind) => `${SAID[kind]} ${format.percent(row[kind][day] / row.minutes[day])}`,
  );
  return `${format.day(time)}: ${parts.join(", ")}`;
}

// The share over all days that had begun.
function whole(row) {
  const sum = (field) => row[field].reduce((total, value) => total + (value ?? 0), 0);
  return sum("minutes") ? sum("recorded") / sum("minutes") : null;
}

function Row({ name, venue, days, row, open, onOpen }) {
  // A square leads to the minutes of its day; by keyboard the day is chosen above, not among hundreds of squares.
  const openDay = (event) => event.target.dataset.day && go(withChoices({ venue, day: event.target.dataset.day }));
  return html`<tr class=${onOpen ? "" : "kind"} onClick=${openDay}><th scope="row">${
    onOpen ? html`<button type="button" aria-expanded=${open} onClick=${onOpen}>${name}</button>` : name
  }</th>
    <td>${format.percent(whole(row))}</td>${days.map(
      (time, day) => html`<td class="cell"><span class=${`degree-${degree(shareOf(row, day))}`} role="img"
      data-day=${row.minutes[day] == null ? null : dayOf(time)} title=${said(row, day, time)} aria-label=${said(row, day, time)}></span></td>`,
    )}</tr>`;
}

const dayOf = (time) => new Date(time).toISOString().slice(0, 10);
const utc = (time) => new Date(time).toISOString().slice(11, 16);

// One kind's minutes of a day: what was not recorded, on the time in which it was asked for.
function Minutes({ name, start, begun, until, gaps }) {
  const share = (from, to) => ({ x: (from - start) / MINUTE_MS, width: (to - from) / MINUTE_MS });
  const missing = gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0) / MINUTE_MS;
  const whole = missing ? `${missing} minutes not whole` : "whole";
  const text = until > begun ? whole : "not begun";
  return html`<tr><th scope="row">${name}</th><td><svg class="minutes" viewBox="0 0 1440 1" preserveAspectRatio="none" role="img" aria-label=${`${name}: ${text}`}>
    ${until > begun && html`<rect class="known" height="1" ...${share(begun, until)} />`}
    ${gaps.map((gap) => html`<rect key=${gap.start} class=${gap.reason} height="1" ...${share(gap.start, gap.end)}><title>${`${utc(gap.start)} to ${utc(gap.end)}: ${format.REASONS[gap.reason]}`}</title></rect>`)}</svg></td><td>${text}</td></tr>`;
}

const HOURS = [0, 3, 6, 9, 12, 15, 18, 21];
const COLUMNS = [
  { title: "From", left: true, value: (gap) => gap.start, show: format.stamp },
  { title: "To", left: true, value: (gap) => gap.end, show: format.stamp },
  { title: "Minutes", value: (gap) => (gap.end - gap.start) / MINUTE_MS, show: format.count },
  words("Kind", (gap) => gap.endpoint ?? "all"),
  words("Reason", (gap) => format.REASONS[gap.reason]),
];

// The minutes of a UTC day of one exchange: each kind of data as a strip, then the same as a table.
function Day({ day, venue, rows, days, source }) {
  const start = Date.parse(`${day}T00:00:00Z`);
  const path = `/api/gaps?venue=${encodeURIComponent(venue)}&start=${start}&range=1d`;
  const { data, error } = useAnswer(path);
  const index = days.indexOf(start);
  const panel = useRef();
  const isKnown = data != null;
  useEffect(() => {
    if (isKnown) panel.current.scrollIntoView({ block: "nearest" });
  }, [day, venue, isKnown]);
  // Minutes are counted from when a kind began to the last count, which is of this hour if the day is not over.
  const counted = days.at(-1) === start ? Math.max(start, data?.recorded_since ?? 0) + mostMinutes(rows, index) * MINUTE_MS : start + DAY_MS;
  return html`<section class="panel" ref=${panel} aria-label=${`${venue}, ${day}`}><div class="bar-top"><h2>${venue}, ${format.day(start)}, minute by minute</h2>
      <span class="legend">${Object.keys(SAID).map((kind) => html`<span><i class=${`minute ${kind === "recorded" ? "known" : kind}`}></i>${SAID[kind]}</span>`)}</span>
      <${Link} class="mini" href=${withChoices({ day: null })}>Close<//></div>
    <${Notice} error=${error} of="Minutes" />
    ${source && html`<div class="below"><${Source} id="gaps" path=${path} rows="rows" /></div>`}
    ${data && html`<div class="scroll" tabindex="0" role="region" aria-label="Minutes of the day"><table class="calendar day"><thead><tr><th scope="col">Kind</th>
      <th scope="col"><span class="hours">${HOURS.map((hour) => html`<span>${String(hour).padStart(2, "0")}:00</span>`)}</span></th><th scope="col">UTC</th></tr></thead>
      <tbody>${rows.map((row) => html`<${Minutes} key=${row.endpoint} name=${row.endpoint} start=${start} until=${data.end}
        begun=${row.minutes[index] == null ? data.end : counted - row.minutes[index] * MINUTE_MS}
        gaps=${data.rows.filter((gap) => gap.endpoint == null || gap.endpoint === row.endpoint)} />`)}</tbody></table></div>`}</section>
  ${data && html`<${Table} name="gaps" title="Not recorded, or not completely" first=${50} note=${format.zoneName()} none="Every minute that had begun was recorded." columns=${COLUMNS} rows=${data.rows} />`}`;
}

// Those of the kind that began first.
const mostMinutes = (rows, index) => Math.max(0, ...rows.map((row) => row.minutes[index] ?? 0));

export function View() {
  const window = chosen("window", WINDOWS[0]);
  const venue = chosen("venue");
  const [source, setSource] = useState(chosen("source") === "1");
  const path = `/api/coverage?window=${encodeURIComponent(window)}`;
  const { data, error } = useAnswer(path);
  useEffect(() => {
    document.title = "Coverage · Tidemark";
  }, []);
  const days = allDays(data?.t ?? [], window);
  const venues = Map.groupBy ? [...Map.groupBy(padded(data, days.length), (row) => row.venue)] : [];
  const newest = days.length - 1;
  const day = chosen("day");
  const [shown, kinds] = (day && venues.find(([name]) => name === venue)) || [];
  const open = (event) => go(withChoices({ venue: venue ?? venues[0]?.[0], day: event.target.value || null }));
  return html`<div class="boardhead"><div><h1 class="title">Coverage</h1><p class="fine about">How much of each UTC day was recorded, of every exchange and kind of data.
      Counted once an hour. An exchange opens to its kinds, a square to the minutes of its day.</p></div>
    <div class="controls"><div class="seg" role="group" aria-label="Window">${WINDOWS.map(
      (one) => html`<${Choice} pressed=${one === window}
      href=${withChoices({ window: one === WINDOWS[0] ? null : one })}>${one}<//>`,
    )}</div>
      <label>Minutes of <input type="date" value=${day ?? ""} onChange=${open} /></label>
      <button type="button" class="mini" aria-expanded=${source} onClick=${() => setSource(!source)}>Source</button></div></div>
    <${Notice} error=${error} of="Coverage" />
    ${source && html`<div class="panel below"><${Source} id="coverage" path=${path} rows="rows" /></div>`}
    <section class="panel"><div class="bar-top"><h2>UTC days</h2>
      <span class="legend"><span><i class="degree-4"></i>whole</span><span><i class="degree-3"></i>98 % and more</span><span><i class="degree-2"></i>75 %</span><span><i class="degree-1"></i>less</span><span><i class="degree-0"></i>nothing</span><span><i class="degree-none"></i>not begun</span></span></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Calendar of what was recorded"><table class=${days.length > 90 ? "calendar long" : "calendar"}><thead><tr><th scope="col">Exchange</th><th scope="col">Recorded</th>
      ${days.map((time, day) => html`<th scope="col" class="cell">${day === newest || (newest - day) % 7 === 0 ? html`<span>${format.day(time)}</span>` : html`<span class="sr">${format.day(time)}</span>`}</th>`)}</tr></thead>
    <tbody>${venues.map(
      ([
        name,
        rows,
      ]) => html`<${Row} key=${name} name=${name} venue=${name} days=${days} row=${together(rows, days)} open=${venue === name}
        onOpen=${() => go(withChoices({ venue: venue === name ? null : name }))} />${venue === name && rows.map((row) => html`<${Row} key=${`${name} ${row.endpoint}`} name=${row.endpoint} venue=${name} days=${days} row=${row} />`)}`,
    )}</tbody></table></div>
    ${data && venues.length === 0 && html`<p class="none pad">Nothing has been counted yet: the first hour of recording is not over.</p>`}
    ${!data && !error && html`<div class="hold tall"></div>`}
    ${data && html`<p class="fine pad">Answered from <code>${data.source}</code>.</p>`}</section>
    ${shown && html`<${Day} day=${day} venue=${shown} rows=${kinds} days=${days} source=${source} />`}`;
}
