// A pane of candles: the open, high, low and close of each bucket, one that rose in the colour of a rise.
import * as format from "./format.js";

const WIDEST = 14;
const INVISIBLE = { kind: "line", ink: null, width: 0 };

// A wick from low to high, and a body from open to close. A bucket without a bar has none.
function drawCandles(plot, colours) {
  const { ctx } = plot;
  const [times, open, high, low, close] = plot.data;
  const ratio = devicePixelRatio;
  const x = (ms) => plot.valToPos(ms, "x", true);
  const y = (value) => Math.round(plot.valToPos(value, "y", true));
  const bucket = times.length > 1 ? x(times[1]) - x(times[0]) : WIDEST * ratio;
  const width = Math.max(ratio, Math.min(WIDEST * ratio, Math.round(bucket * 0.7)));
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  for (let index = 0; index < times.length; index++) {
    if (close[index] == null) continue;
    ctx.fillStyle = colours[close[index] < open[index] ? "down" : "up"];
    const middle = Math.round(x(times[index]) + bucket / 2);
    ctx.fillRect(middle - Math.round(ratio / 2), y(high[index]), ratio, Math.max(ratio, y(low[index]) - y(high[index])));
    const [top, bottom] = [y(Math.max(open[index], close[index])), y(Math.min(open[index], close[index]))];
    ctx.fillRect(Math.round(middle - width / 2), top, width, Math.max(ratio, bottom - top));
  }
  ctx.restore();
}

export function candles(key, title, unit, [times, open, high, low, close], more = {}) {
  const fields = { open, high, low, close };
  const read = (bucket) => {
    const at = bucket ?? close.findLastIndex((value) => value != null);
    const tone = close[at] == null ? "" : `ink-${close[at] < open[at] ? "down" : "up"}`;
    return Object.entries(fields).map(([name, values]) => [name, format.price(values[at] ?? null), tone]);
  };
  return {
    key, title, unit, gaps: [], colour: "price", tag: format.price, tick: format.priceTick, draw: drawCandles, read,
    lines: Object.keys(fields).map((label) => ({ label, ...INVISIBLE })),
    data: [times, ...Object.values(fields)],
    ...more,
  };
}
