// Charts below one another on one time axis. Time that was not recorded is hatched, and no line is drawn across it.
import uPlot from "../vendor/uplot/uplot.js";
import { html, useEffect, useRef, useState } from "../vendor/preact/preact.js";
import * as format from "./format.js";

const AXIS_WIDTH = 66;
const TIME_AXIS_HEIGHT = 30;
const TICK_FONT = "11px Inter, system-ui, sans-serif";
const SPEAK_AFTER_MS = 250;
const DAY_MS = 86_400_000;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// A canvas takes no light-dark(): an element of the page resolves it.
function resolved(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value || colour(name);
}
function palette() {
  const names = ["ink", "ink-2", "ink-3", "surface", "grid", "gap", "hatch", "gap-edge", "partial", "price", "oi", "up", "down", "up-soft", "down-soft"];
  return Object.fromEntries(names.map((name) => [name, resolved(`--${name}`)]));
}

// Every bucket of an answer's range, and each field's value in it: null where there is none.
export function buckets(answer, fields) {
  const { step, start, end } = answer;
  const times = Array.from({ length: Math.max(1, Math.ceil((end - start) / step)) }, (_, index) => start + index * step);
  const place = new Map(answer.t.map((time, index) => [time, index]));
  const values = (field) => times.map((time) => (place.has(time) ? answer[field]?.[place.get(time)] ?? null : null));
  return [times, ...fields.map(values)];
}

// Values that are drawn below zero, and a range that has zero in its middle.
export const negated = (values) => values.map((value) => (value == null ? null : -value));
export const symmetric = (least) => (plot, low, high) => {
  const most = Math.max(Math.abs(low ?? 0), Math.abs(high ?? 0), least) * 1.12;
  return [-most, most];
};

// Whether a value is one of the exchanges' own history: of a bucket with both kinds, unless every market is in it.
export const isFetched = (origin, n, expected) =>
  origin === "backfilled" || (origin === "mixed" && n !== expected);

const KINDS = {
  line: uPlot.paths.linear({ alignGaps: 0 }),
  step: uPlot.paths.stepped({ align: 1 }),
  area: uPlot.paths.bars({ size: [1, Infinity], align: 1, gap: 0 }),
  bars: uPlot.paths.bars({ size: [0.72, 14, 1], align: 1 }),
};

function hatching(context, stroke, ratio) {
  const size = Math.round(7 * ratio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  pen.strokeStyle = stroke;
  pen.lineWidth = Math.max(1, ratio);
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

// Where a time is, at most as far as the edges.
function placed(plot, ms) {
  const { left, width } = plot.bbox;
  return Math.min(left + width, Math.max(left, plot.valToPos(ms, "x", true)));
}

// Below the lines: gaps of everything hatched, and a rule where recording began.
function drawGaps(plot, pane, colours, since) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const x = (ms) => placed(plot, ms);
  const fill = (style, from, to) => {
    ctx.fillStyle = style;
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  };
  ctx.save();
  const pattern = hatching(ctx, colours.hatch, ratio);
  for (const gap of pane.gaps.filter(({ venue }) => venue == null)) {
    const [from, to] = [x(gap.start), Math.max(x(gap.end), x(gap.start) + 2 * ratio)];
    for (const style of [colours.gap, pattern]) fill(style, from, to);
    for (const edge of [from, to - ratio]) fill(colours["gap-edge"], edge, edge + ratio);
  }
  if (since > plot.scales.x.min && since < plot.scales.x.max) fill(colours["ink-3"], Math.round(x(since)), Math.round(x(since)) + ratio);
  ctx.restore();
}

// Above the lines: a strip where one exchange is missing, the reason of other gaps where it fits, and the newest value
// beside its axis.
function drawMarks(plot, pane, colours) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * ratio}px Inter, system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  const label = (text, left, middle, ink, paper, pad) => {
    ctx.fillStyle = paper;
    ctx.beginPath();
    ctx.roundRect(left, middle - 9 * ratio, ctx.measureText(text).width + 2 * pad, 18 * ratio, 2 * ratio);
    ctx.fill();
    ctx.fillStyle = ink;
    ctx.fillText(text, left + pad, middle + ratio / 2);
  };
  ctx.fillStyle = colours.partial;
  for (const gap of pane.gaps.filter(({ venue }) => venue != null)) {
    const from = placed(plot, gap.start);
    ctx.fillRect(from, bbox.top + bbox.height - 4 * ratio, Math.max(2 * ratio, placed(plot, gap.end) - from), 4 * ratio);
  }
  for (const gap of pane.gaps.filter(({ venue }) => venue == null)) {
    const [from, to] = [placed(plot, gap.start), placed(plot, gap.end)];
    const text = gap.text ?? format.REASONS[gap.reason] ?? gap.reason;
    const width = ctx.measureText(text).width;
    if (to - from > width + 28 * ratio) {
      label(text, (from + to - width) / 2 - 8 * ratio, bbox.top + bbox.height / 2, colours["ink-2"], colours.surface, 8 * ratio);
    }
  }
  const newest = newestOf(plot, pane);
  if (newest != null) {
    const left = bbox.left + bbox.width + 4 * ratio;
    label(pane.tag(newest), left, plot.valToPos(newest, "y", true), colours.surface, colours[pane.colour], 5 * ratio);
  }
  ctx.restore();
}

// On an axis of another kind (`across` names it) the last value is not the newest.
const newestOf = (plot, pane) => (pane.tag && !pane.across ? plot.data.at(-1).findLast((value) => value != null) : null);

// Hours of one day, days of several; the day is named where it begins.
function timeTicks(length) {
  return (plot, times) => {
    let before = null;
    return times.map((time) => {
      const day = format.day(time);
      const isNew = before !== null && day !== before;
      before = day;
      if (length > 14 * DAY_MS) return day;
      return isNew || (length > 36 * 3_600_000 && format.clock(time) === "00:00") ? day : format.clock(time);
    });
  };
}

// What an axis says of its places: nothing above another chart, a price along prices, else times.
function placeTicks(isLast, along, length) {
  if (!isLast) return (plot, places) => places.map(() => "");
  return along ? (plot, places) => places.map(along) : timeTicks(length);
}

function options(pane, colours, { width, height, isLast, start, end, since, along, onRead, onZoom }) {
  const tick = { stroke: colours["ink-3"], font: TICK_FONT, grid: { stroke: colours.grid, width: 1 } };
  const lines = pane.lines.map(({ kind, ink, fill, dash, width = 1.5, dots = false }) => ({
    scale: "y", paths: KINDS[kind], stroke: colours[ink], fill: colours[fill], dash, width, spanGaps: false,
    points: { show: dots, size: 4, width: 0, fill: colours[ink] },
  }));
  return {
    width, height, ms: 1, padding: [8, 0, isLast ? 0 : 6, 0], legend: { show: false }, series: [{}, ...lines],
    tzDate: (ms) => (format.inUtc() ? uPlot.tzDate(new Date(ms), "Etc/UTC") : new Date(ms)),
    cursor: {
      y: false, drag: { x: true, y: false, setScale: false }, sync: { key: "charts", setSeries: false },
      points: { size: 7, width: 1.5, stroke: () => colours.surface, fill: (plot, index) => colours[pane.lines[index - 1].ink] ?? colours[pane.colour] },
    },
    scales: {
      x: { time: !along, range: () => [start, end] },
      y: { range: pane.range ?? ((plot, low, high) => (low == null ? [0, 1] : uPlot.rangeNum(low, high, 0.12, true))) },
    },
    axes: [
      { ...tick, side: 2, size: isLast ? TIME_AXIS_HEIGHT : 0, gap: 6, space: width < 500 ? 64 : 96, ticks: { show: isLast, stroke: colours.grid, size: 4 },
        values: placeTicks(isLast, along, end - start) },
      { ...tick, side: 1, size: AXIS_WIDTH, gap: 8, space: 34, ticks: { show: false },
        // None below the label of the newest value.
        values: (plot, ticks) => {
          const newest = newestOf(plot, pane);
          const covered = (value) => newest != null && Math.abs(plot.valToPos(value, "y") - plot.valToPos(newest, "y")) < 17;
          return ticks.map((value) => (covered(value) ? "" : pane.tick(value, ticks[1] - ticks[0])));
        } },
    ],
    hooks: {
      drawClear: [(plot) => drawGaps(plot, pane, colours, since)],
      draw: [(plot) => pane.draw?.(plot, colours), (plot) => drawMarks(plot, pane, colours)],
      setCursor: [(plot) => onRead(plot.cursor.idx)],
      setSelect: [(plot) => {
        const { left, width: wide } = plot.select;
        if (wide < 12) return;
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        onZoom(plot.posToVal(left, "x"), plot.posToVal(left + wide, "x"));
      }],
    },
  };
}

// The panes, read with the pointer, a finger or the keys. A pane has its `data` (times, then one array for each of its
// `lines`), its `gaps`, `draw` where it is drawn otherwise than by lines, and `read`, which gives the label, text and tone of each value in a bucket (null: the newest).
// `onExplain` is called with a pane and the start of a bucket that was clicked. `along` says a place on an axis that is not
// of time.
export function Charts({ panes, start, end, since, along, picked, onPick, onZoom, onExplain, plotsRef }) {
  const host = useRef();
  const readings = useRef([]);
  const time = useRef();
  const spoken = useRef();
  const at = useRef(null);
  const timer = useRef();
  const [theme, setTheme] = useState(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    const again = () => setTheme((times) => times + 1);
    addEventListener("themechange", again);
    return () => removeEventListener("themechange", again);
  }, []);

  const show = (which, index) => {
    const pane = panes[which];
    const parts = pane.read(index).map(([label, text, tone]) => {
      const part = document.createElement("span");
      part.className = tone ?? "";
      if (label) part.append(Object.assign(document.createElement("i"), { textContent: label }));
      part.append(text);
      return part;
    });
    readings.current[which]?.replaceChildren(...parts);
    if (which > 0) return;
    at.current = index;
    const moment = index == null ? null : pane.data[0][index];
    const place = moment == null ? "" : along ? along(moment) : format.stamp(moment);
    time.current.textContent = place && !along ? `${place} ${format.zoneName()}` : place;
    clearTimeout(timer.current);
    if (moment == null || document.activeElement !== host.current) return;
    timer.current = setTimeout(() => {
      const said = panes.map((one, number) => `${one.title} ${readings.current[number].innerText.replace(/\s+/g, " ")}`);
      spoken.current.textContent = `${place}: ${said.join("; ")}`;
    }, SPEAK_AFTER_MS);
  };

  // A click that is no drag; a finger reads values, and would leave with each.
  const explainable = (plot, pane) => {
    let from = null;
    plot.over.addEventListener("pointerdown", (event) => {
      from = event.pointerType === "touch" ? null : event.clientX;
    });
    plot.over.addEventListener("click", (event) => {
      const isClick = from != null && Math.abs(event.clientX - from) < 4 && plot.cursor.idx != null;
      if (isClick) onExplain?.(pane, pane.data[0][plot.cursor.idx]);
    });
  };

  useEffect(() => {
    const boxes = [...host.current.querySelectorAll(".plot")];
    let width = 0;
    let plots = [];
    const draw = () => {
      if (!boxes[0].clientWidth || boxes[0].clientWidth === width) return;
      width = boxes[0].clientWidth;
      for (const plot of plots) plot.destroy();
      const colours = palette();
      plots = panes.map((pane, index) => new uPlot(options(pane, colours, {
        width, height: boxes[index].clientHeight, isLast: index === panes.length - 1, start, end, since, along, onZoom,
        onRead: (bucket) => show(index, bucket),
      }), pane.data, boxes[index]));
      plotsRef.current = plots;
      plots.forEach((plot, index) => explainable(plot, panes[index]));
      panes.forEach((_, index) => show(index, null));
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(host.current);
    // Letters drawn before the font was there have another width.
    let alive = true;
    document.fonts.ready.then(() => alive && plots.forEach((plot) => plot.redraw(false)));
    return () => {
      alive = false;
      observer.disconnect();
      for (const plot of plots) plot.destroy();
    };
  }, [panes, theme, format.inUtc()]);

  const moveTo = (index) => {
    const [plot] = plotsRef.current;
    const times = panes[0].data[0];
    const kept = Math.max(0, Math.min(times.length - 1, index));
    plot.setCursor({ left: plot.valToPos(times[kept], "x"), top: 10 });
  };
  const onKey = (event) => {
    if (event.target !== host.current) return;
    const last = panes[0].data[0].length - 1;
    const by = event.shiftKey ? 12 : 1;
    const from = at.current ?? last + 1;
    const index = { ArrowLeft: from - by, ArrowRight: from + by, Home: 0, End: last }[event.key];
    if (event.key === "Enter" && at.current != null) {
      onExplain?.(panes.find((pane) => pane.key === picked) ?? panes[0], panes[0].data[0][at.current]);
    }
    if (event.key === "Escape") plotsRef.current[0].setCursor({ left: -10, top: -10 });
    if (index === undefined) return;
    event.preventDefault();
    moveTo(index);
  };
  const onTouch = (event) => {
    const [plot] = plotsRef.current;
    plot.setCursor({ left: event.touches[0].clientX - plot.over.getBoundingClientRect().left, top: 10 });
  };
  return html`<div class="charts" ref=${host} tabindex="0" role="application" onKeyDown=${onKey} onTouchStart=${onTouch} onTouchMove=${onTouch}
    aria-label=${`Charts on one ${along ? "" : "time "}axis. Left and right arrows read one bucket after another, with Shift twelve, Home the first, End the last; Enter shows where a value came from; Escape ends.`}>
    ${panes.map((pane, index) => html`<section key=${pane.key} class=${`pane ${pane.key} ${picked === pane.key ? "on" : ""}`}>
      <header><button type="button" class="pick" aria-pressed=${picked === pane.key} title="Show its source" onClick=${() => onPick(pane.key)}>
        <b>${pane.title}</b> <small>${pane.unit}</small></button>
        <div class="reads" ref=${(element) => { readings.current[index] = element; }}></div>
        ${index === 0 && html`<time class="when" ref=${time}></time>`}</header>
      <div class="plot"></div></section>`)}
    <div class="sr" aria-live="polite" ref=${spoken}></div></div>`;
}

// The charts as they are drawn, as one image.
export function savePng(plots, title, name) {
  const ratio = devicePixelRatio;
  const canvases = plots.map((plot) => plot.ctx.canvas);
  const [head, foot] = [30 * ratio, canvases.reduce((sum, canvas) => sum + canvas.height, 0)];
  const image = document.createElement("canvas");
  image.width = Math.max(...canvases.map((canvas) => canvas.width));
  image.height = head + foot;
  const pen = image.getContext("2d");
  const colours = palette();
  pen.fillStyle = colours.surface;
  pen.fillRect(0, 0, image.width, image.height);
  pen.fillStyle = colours.ink;
  pen.font = `${12 * ratio}px Inter, system-ui, sans-serif`;
  pen.fillText(title, 8 * ratio, 19 * ratio);
  let top = head;
  for (const canvas of canvases) {
    pen.drawImage(canvas, 0, top);
    top += canvas.height;
  }
  image.toBlob((blob) => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}
