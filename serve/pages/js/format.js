// Numbers and times as they are shown. What is not known is an en dash, never 0.
import { chosen } from "./address.js";

export const NONE = "–";
const MINUS = "\u2212";
const SIZES = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]];
const FUNDINGS_A_YEAR = 3 * 365;

const sign = (value, always) => (value < 0 ? MINUS : always && value > 0 ? "+" : "");

// $1.23B: three significant digits, or `digits`.
export function usd(value, digits = 3) {
  if (value == null) return NONE;
  const size = Math.abs(value);
  const [unit, name] = SIZES.find(([least]) => size >= least * 0.9995) ?? [1, ""];
  const scaled = size / unit;
  const whole = Math.max(1, Math.floor(Math.log10(scaled || 1)) + 1);
  const places = unit === 1 ? (size >= 100 || size === 0 ? 0 : 2) : Math.max(0, digits - whole);
  return `${sign(value)}$${scaled.toFixed(places)}${name}`;
}

// A sum in which markets are missing is a lower bound.
export const sum = (value, markets, expected, digits) =>
  (value != null && markets != null && expected != null && markets < expected ? "≥ " : "") + usd(value, digits);

// A tick of an axis has the digits in which it differs from its neighbour.
export function usdTick(value, increment) {
  if (value === 0) return "0";
  const [unit, name] = SIZES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  const places = Math.min(4, Math.max(0, Math.ceil(-Math.log10(increment / unit) - 1e-9)));
  return `${sign(value)}$${(Math.abs(value) / unit).toFixed(places)}${name}`;
}

export function price(value) {
  if (value == null) return NONE;
  const size = Math.abs(value);
  const below = [[10_000, 0], [1000, 1], [10, 2], [1, 3], [0.1, 4]].find(([least]) => size >= least);
  const places = below ? below[1] : Math.min(12, 3 - Math.floor(Math.log10(size || 1)));
  return size.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

export function priceTick(value, increment) {
  const places = Math.min(12, Math.max(0, Math.ceil(-Math.log10(increment) - 1e-9)));
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

export const percent = (fraction, places = 2) => (fraction == null ? NONE : `${(fraction * 100).toFixed(places)}%`);
export const change = (fraction, places = 2) =>
  fraction == null ? NONE : sign(Number((fraction * 100).toFixed(places)), true) + percent(Math.abs(fraction), places);
export const funding = (rate) => change(rate, 4);
export const fundingTick = (rate, increment) =>
  change(rate, Math.min(6, Math.max(0, Math.ceil(-Math.log10(increment * 100) - 1e-9))));
export const yearly = (rate) => change(rate == null ? null : rate * FUNDINGS_A_YEAR, 1);
export const count = (value) => (value == null ? NONE : value.toLocaleString("en-US"));
export const ratio = (value, places = 1) => (value == null ? NONE : value.toFixed(places));
export const tone = (value) => (value > 0 ? "up" : value < 0 ? "down" : "");

// How a unit of /api/metrics is said, and a tick of its axis.
export function sayers(metric, unit) {
  if (metric === "price") return [price, priceTick];
  if (unit.includes("fraction per 8 hours")) return [funding, fundingTick];
  if (unit.startsWith("fraction")) return [(value) => change(value, 3), fundingTick];
  const plain = (value) => ratio(value, 3);
  return unit.startsWith("ratio") ? [plain, plain] : [(value) => usd(value, 4), usdTick];
}

export function duration(seconds) {
  if (seconds == null) return NONE;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

export const inUtc = () => chosen("tz") !== "local";
const formats = new Map();
function part(ms, options) {
  const key = inUtc() + JSON.stringify(options);
  if (!formats.has(key)) {
    const zone = inUtc() ? { timeZone: "UTC" } : {};
    formats.set(key, new Intl.DateTimeFormat("en-GB", { ...options, ...zone, hourCycle: "h23" }));
  }
  return formats.get(key).format(ms);
}
const MINUTES = { hour: "2-digit", minute: "2-digit" };
export const clock = (ms) => (ms == null ? NONE : part(ms, MINUTES));
export const clockSeconds = (ms) => (ms == null ? NONE : part(ms, { ...MINUTES, second: "2-digit" }));
// With its year, unless that is this year.
export function day(ms) {
  const year = new Date(ms).getUTCFullYear() === new Date().getUTCFullYear() ? {} : { year: "numeric" };
  return part(ms, { day: "numeric", month: "short", ...year });
}
export const stamp = (ms) => (ms == null ? NONE : `${day(ms)}, ${clock(ms)}`);
export const span = (from, to) => `${stamp(from)} – ${day(from) === day(to) ? clock(to) : stamp(to)}`;
export const zoneName = () => (inUtc() ? "UTC" : part(Date.now(), { timeZoneName: "short" }).split(" ").at(-1));

// The steps of a series, in milliseconds, and the name of one.
export const STEPS = { "1m": 60_000, "5m": 300_000, "15m": 900_000, "1h": 3_600_000, "4h": 14_400_000, "1d": 86_400_000 };
export const stepOf = (ms) => Object.keys(STEPS).find((step) => STEPS[step] === ms);

// Why nothing is known of a time, in words.
export const REASONS = {
  recorder_down: "recorder was down",
  before_recording: "before recording began",
  venue_unreachable: "exchange unreachable",
  venue_error: "exchange answered with an error",
  partial: "in part",
};
