// Parts that pages share: links, notices, small drawings in tables, and the panel that says where numbers come from.
import { html, useState } from "../vendor/preact/preact.js";
import { apiKey, Refused } from "./api.js";
import { go } from "./address.js";
import * as format from "./format.js";
import { coloured, downloads, snippets } from "./snippets.js";

// A request for a metric's series, of a coin where there is one.
const SELECTED = { base: "base=BTC", market: "market=binance:perp:BTCUSDT" };
export const example = ({ series, selectors }, ...more) =>
  [series, [SELECTED[selectors.find((selector) => SELECTED[selector])], ...more].filter(Boolean).join("&")].filter(Boolean).join("?");

export const opensElsewhere = (event) => event.metaKey || event.ctrlKey || event.shiftKey || event.button > 0;

// A link that draws the page it leads to without loading it.
export function Link({ href, children, ...rest }) {
  const follow = (event) => {
    if (opensElsewhere(event)) return;
    event.preventDefault();
    go(href);
  };
  return html`<a href=${href} onClick=${follow} ...${rest}>${children}</a>`;
}

export const Choice = ({ pressed, href, children, ...rest }) =>
  html`<button type="button" aria-pressed=${pressed} onClick=${() => go(href)} ...${rest}>${children}</button>`;

export function Notice({ error, of }) {
  if (!error) return null;
  if (error instanceof Refused && error.status === 429) {
    return html`<div class="notice bad" role="status"><b>${of}:</b> the request budget of this address is spent; asked again
      in ${error.retryS} s. <a href="/guide/interface#8-limits">Limits</a>, <a href="/guide/interface#5-keys">how to make
      a key</a>, which raises them. <${KeyForm} /></div>`;
  }
  if (error instanceof Refused && error.status === 503) {
    const reason = error.message.replace("the data cannot be read now: ", "");
    return html`<p class="notice" role="status"><b>${of}, not yet:</b> ${reason}</p>`;
  }
  const said = error instanceof Refused ? error.message : "the server does not answer. What is shown is the last that it sent.";
  return html`<p class="notice bad" role="status"><b>${of}:</b> ${said}</p>`;
}

function KeyForm() {
  const use = (event) => {
    event.preventDefault();
    apiKey.set(new FormData(event.target).get("key").trim());
    location.reload();
  };
  return html`<form class="key" onSubmit=${use}><input name="key" type="password" aria-label="API key" placeholder="API key"
    autocomplete="off" /><button class="mini" type="submit">Use in this tab</button></form>`;
}

export function Copy({ text }) {
  const [said, say] = useState("Copy");
  const copy = async () => {
    const failed = await navigator.clipboard?.writeText(text).then(() => false, () => true);
    say(failed === false ? "Copied" : "Not allowed");
    setTimeout(() => say("Copy"), 1500);
  };
  return html`<button type="button" class="plain" aria-live="polite" onClick=${copy}>${said}</button>`;
}

function Tabs({ id, items }) {
  const [open, setOpen] = useState(0);
  const [, text] = items[open];
  const move = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (open + by + items.length) % items.length;
    setOpen(next);
    document.getElementById(`${id}-${next}`).focus();
  };
  return html`<div class="tabs">
    <div class="tabrow"><div role="tablist" aria-label="Language" onKeyDown=${move}>${items.map(([name], index) => html`
      <button type="button" role="tab" id=${`${id}-${index}`} aria-selected=${index === open} tabindex=${index === open ? 0 : -1}
        aria-controls=${`${id}-code`} onClick=${() => setOpen(index)}>${name}</button>`)}</div><${Copy} text=${text} /></div>
    <pre class="code" role="tabpanel" id=${`${id}-code`} aria-labelledby=${`${id}-${open}`} tabindex="0"><code>${
      coloured(text).map(([kind, part]) => (kind ? html`<span class=${`of-${kind}`}>${part}</span>` : part))}</code></pre></div>`;
}

// The request of what is shown, as a URL, in three languages, and as files.
export function Source({ id, path, rows, forms, png }) {
  const parts = path.split(/(?=[?&])/);
  return html`<div class="source">
    <div class="request"><span class="verb">GET</span><code tabindex="0">${parts.map((part, index) => html`${
      index > 0 && html`<wbr />`}<span class=${index ? "of-word" : ""}>${part}</span>`)}</code><${Copy} text=${location.origin + path} /></div>
    <${Tabs} id=${id} items=${snippets(path, rows, forms)} />
    <div class="files"><span>Download</span>${downloads(path, forms).map(([name, href]) => html`<a href=${href} download>${name}</a>`)}${
      png && html`<button type="button" class="plain" onClick=${png}>PNG</button>`}</div></div>`;
}

// A line of few values; not drawn across what is not known.
export function Spark({ values }) {
  const known = (values ?? []).filter((value) => value != null);
  if (known.length < 2) return html`<span class="none">${format.NONE}</span>`;
  const [width, height] = [104, 26];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (index) => 2 + (index * (width - 4)) / (values.length - 1);
  const y = (value) => (high > low ? height - 2 - ((value - low) * (height - 4)) / (high - low) : height / 2);
  const points = values.map((value, index) =>
    value == null ? "" : `${values[index - 1] == null ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`);
  const last = values.findLastIndex((value) => value != null);
  return html`<svg class="spark" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
    <path d=${points.join("")} /><circle cx=${x(last)} cy=${y(values[last])} r="1.8" /></svg>`;
}

// Longs and shorts as parts of their sum.
export function Split({ long, short }) {
  const whole = (long ?? 0) + (short ?? 0);
  const at = whole ? ((long ?? 0) / whole) * 100 : 0;
  return html`<svg class="split" viewBox="0 0 100 4" preserveAspectRatio="none" role="img"
    aria-label=${`longs ${format.usd(long)}, shorts ${format.usd(short)}`}>${whole > 0 && html`
    <rect class="fill-down" width=${Math.max(0, at - 0.5)} height="4" />
    <rect class="fill-up" x=${at + 0.5} width=${Math.max(0, 99.5 - at)} height="4" />`}</svg>`;
}

export const Bar = ({ share }) => html`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
  <rect class="fill-oi" width=${Math.min(100, Math.max(0, (share ?? 0) * 100))} height="4" /></svg>`;

// A value right or left of zero, whole at `most`.
export function Diverging({ value, most }) {
  const length = value == null ? 0 : Math.max(-1, Math.min(1, value / most)) * 48;
  return html`<svg class="diverging" viewBox="-50 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="fill-rule" x="-.75" width="1.5" height="8" />
    <rect class=${length < 0 ? "fill-down" : "fill-up"} x=${Math.min(0, length)} y="1" width=${Math.abs(length)} height="6" /></svg>`;
}

export const Funding = ({ rate }) => html`<${Diverging} value=${rate} most=${0.0006} /><span>${format.funding(rate)}</span>`;
