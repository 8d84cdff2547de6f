// Draws a page that is declared: what it asks of the API, what may be chosen, its figures, charts and tables. The pages
// themselves are in `trading.js` and `studies.js`.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact/preact.js";
import { chosen, explanationAt, go, withChoices } from "./address.js";
import { useAnswer } from "./api.js";
import { Charts, savePng } from "./chart.js";
import * as format from "./format.js";
import { Then } from "./known.js";
import { Choice, Link, Notice, Source } from "./parts.js";
import { Table } from "./table.js";

function Choose({ name, label, values, otherwise }) {
  const now = chosen(name, otherwise);
  return html`<div class="seg" role="group" aria-label=${label}>${values.map(
    (value) => html`<${Choice} pressed=${value === now}
    href=${withChoices({ [name]: value === otherwise ? null : value })}>${value}<//>`,
  )}</div>`;
}

// The figures at the top: [title, value, what is said below it].
const Figures = ({ figures }) =>
  html`<dl class="totals figures">${figures.map(
    ([title, value, said]) => html`
  <div><dt>${title}</dt><dd class="value">${value}</dd><dd class="sub">${said}</dd></div>`,
  )}</dl>`;

function Drawn({ panes, start, end, along, name }) {
  const plots = useRef([]);
  const [picked, pick] = useState(panes[0].key);
  const reset = chosen("start");
  const zoom = (from, to) => !along && go(withChoices({ start: Math.floor(from), end: Math.ceil(to) }));
  // A pane whose `explain` names its series leads to where a value came from.
  const explain = (pane, t) => pane.explain && go(explanationAt({ ...pane.explain, t }));
  return html`<div class="panel drawn"><${Charts} panes=${panes} start=${start} end=${end} along=${along} picked=${picked} onPick=${pick} onZoom=${zoom}
      onExplain=${explain} plotsRef=${plots} />
    <p class="pad">${reset && html`<button type="button" class="mini" onClick=${() => go(withChoices({ start: null, end: null }))}>Whole range</button> `}<button
      type="button" class="mini" onClick=${() => savePng(plots.current, `${name}. Tidemark`, `${name}.png`)}>PNG</button></p></div>`;
}

// The part of a chart that the address names, else all of it.
function zoomed({ start, end, panes, along }) {
  if (along) return { panes, start, end, along };
  const [from, to] = [Number(chosen("start")) || start, Number(chosen("end")) || end];
  return { panes, start: Math.max(start, from), end: Math.min(end, to) };
}

// The values of the charts, so that they can be read without seeing them.
function Values({ panes, along }) {
  const [times] = panes[0].data;
  const rows = times.map((_, index) => index).reverse();
  const { explain, across } = panes[0];
  const moment = (t) =>
    explain ? html`<${Link} href=${explanationAt({ ...explain, t })}>${format.stamp(t)}<//>` : format.stamp(t);
  const columns = [
    {
      title: across ?? "From",
      left: true,
      value: (index) => times[index],
      show: along ?? moment,
    },
    ...panes.flatMap((pane) =>
      pane.data.slice(1).map((values, number) => ({
        title: pane.lines[number].label ?? pane.title,
        value: (index) => values[index],
        show: (value) => (value == null ? format.NONE : pane.tag(value)),
      })),
    ),
  ];
  return html`<${Table} name="values" title="Values" note=${along ? panes[0].title : format.zoneName()} columns=${columns} rows=${rows} />`;
}

export function Board({ board, name }) {
  const choices = Object.fromEntries(
    (board.choices ?? []).map((choice) => [choice.name, chosen(choice.name, choice.otherwise)]),
  );
  // A request may follow from the answers to those before it.
  const [paths, answers, data] = [[], [], {}];
  for (const [key, path] of Object.entries(board.requests)) {
    paths.push([key, path(choices, name, data) || null]);
    answers.push(useAnswer(paths.at(-1)[1]));
    data[key] = answers.at(-1).data;
  }
  const title = typeof board.title === "function" ? board.title(name) : board.title;
  const [source, setSource] = useState(chosen("source") === "1");
  const [table, setTable] = useState(chosen("table") === "1");
  useEffect(() => {
    document.title = `${title} · Tidemark`;
  }, [title]);
  const all = [...Object.values(data), chosen("start"), chosen("end"), chosen("tz"), chosen("known")];
  // One chart, or several with an axis each.
  const charts = useMemo(() => [board.charts?.(data, choices, name) || []].flat().filter(Boolean), all);
  const parts = { figures: board.figures?.(data, choices), tables: board.tables(data, choices, name) };
  // A path is null where the choices need no request.
  const waits = answers.some((answer, index) => paths[index][1] && !answer.data && !answer.error);
  return html`<div class="boardhead"><div><h1 class="title">${title}</h1><p class="fine about">${board.about}</p></div>
      <div class="controls">${(board.choices ?? []).map((choice) => html`<${Choose} ...${choice} />`)}${board.then && html`<${Then} />`}
        ${charts.length > 0 && html`<button type="button" class="mini" aria-expanded=${table} onClick=${() => setTable(!table)}>Show as table</button>`}
        <button type="button" class="mini" aria-expanded=${source} onClick=${() => setSource(!source)}>Source</button></div></div>
    ${answers.map((answer, index) => html`<${Notice} error=${answer.error} of=${board.names?.[paths[index][0]] ?? title} />`)}
    ${source && paths.filter(([, path]) => path).map(([key, path]) => html`<div class="panel below" key=${key}><${Source} id=${key} path=${path} rows=${board.rows?.[key]} /></div>`)}
    ${parts.figures && html`<${Figures} figures=${parts.figures} />`}
    ${charts.map((one) => html`<${Drawn} key=${one.panes[0].key} ...${zoomed(one)} name=${title} />${table && html`<${Values} ...${one} />`}`)}
    ${waits && !parts.tables.length && html`<div class="hold tall"></div>`}
    <div class="boards">${parts.tables.map((one) => html`<${Table} key=${one.name} ...${one} />`)}</div>`;
}
