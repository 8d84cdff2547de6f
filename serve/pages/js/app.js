// The frame of the explorer: it draws the page that the address names, the strip below the header, and the search.
import { html, render, useEffect, useRef, useState } from "../vendor/preact/preact.js";
import { chosen, coinAt, go, pageAt, withChoices } from "./address.js";
import { ask, useAnswer } from "./api.js";
import * as format from "./format.js";
import { Link, opensElsewhere } from "./parts.js";

const STALE_S = 180;
const LATE_MS = 180_000;
const RETRY_MS = 5000;
const TYPED_MS = 120; // Between two letters that are typed as one word.

const main = document.getElementById("main");
// The server's list: the path of each page, and the module whose View draws it with the path's part in braces.
const VIEWS = Object.entries(JSON.parse(main.dataset.views)).map(([path, module]) =>
  [new RegExp(`^${path.replace(/\/$/, "").replace(/{\w+}/g, "([^/]+)")}/?$`), module]);
const viewOf = (path) => VIEWS.map(([pattern, module]) => [path.match(pattern), module]).find(([match]) => match) ?? [];

function useNow(everyMs) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}

// Draws again when the address changes.
function useAddress() {
  const [, draw] = useState(0);
  useEffect(() => {
    const again = () => draw((times) => times + 1);
    addEventListener("popstate", again);
    return () => removeEventListener("popstate", again);
  }, []);
}

function Strip() {
  useAddress();
  const now = useNow(1000);
  const { data, at, error } = useAnswer("/api/status");
  if (!data) {
    const said = error ? "The server does not answer." : "Reading the state of the service…";
    return html`<div class="wrap"><span class="state"><i class=${error ? "bad" : ""}></i>${said}</span></div>`;
  }
  if (data.edition == null) {
    return html`<div class="wrap"><span class="state"><i class="warn"></i>Nothing yet</span><span>${data.error}</span></div>`;
  }
  const age = data.age_s + (now - at) / 1000;
  const [tone, said] = Math.abs(age) > STALE_S ? ["bad", "Stale"] : data.state === "healthy" ? ["ok", "Healthy"] : ["warn", "Unhealthy"];
  const late = (venue) => venue.last_good_ms == null || data.as_of - venue.last_good_ms > LATE_MS;
  const stateOf = (venue) => (late(venue) ? "late" : venue.failed_endpoints > 0 || venue.state === "partial" ? "part" : "good");
  const reasonOf = (venue) => [venue.venue, `last good minute ${format.clock(venue.last_good_ms)}`, venue.reason, venue.last_error]
    .filter(Boolean).join("; ");
  const good = data.venues.filter((venue) => !late(venue)).length;
  const partial = data.venues.filter((venue) => stateOf(venue) === "part").length;
  return html`<div class="wrap">
    <span class="state"><i class=${tone}></i>${said}</span>
    <span>as of <time>${format.clockSeconds(data.as_of)}</time> ${format.zoneName()}</span>
    <span class="wide"><b class="age">${format.duration(Math.max(0, age))}</b> old</span>
    <span class="wide">edition <b>${data.edition}</b></span>
    <span class="venues" role="img" aria-label=${`${good} of ${data.venues.length} exchanges answer, ${partial} in part`}>${
      data.venues.map((venue) => html`<i class=${stateOf(venue)} title=${reasonOf(venue)}></i>`)}</span>
    <span class="answering">${good} of ${data.venues.length}<span class="wide"> exchanges</span></span>
    <span class="wide">recorded since <time>${format.stamp(data.recorded_since)}</time></span>
    <${Link} class="end" href=${pageAt("/status")}>Status<//></div>`;
}

function Search() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState(null);
  const box = useRef();
  const hits = text && found ? found.coins.slice(0, 8) : [];
  useEffect(() => {
    if (!text.trim()) return undefined;
    let alive = true;
    const timer = setTimeout(() => {
      ask(`/api/search?q=${encodeURIComponent(text)}`).then((data) => alive && setFound(data), () => alive && setFound(null));
    }, TYPED_MS);
    return () => {
      alive = false;
      clearTimeout(timer);
    };
  }, [text]);
  const leave = () => {
    setOpen(false);
    setText("");
    setFound(null);
    setAt(0);
    box.current.blur();
  };
  const take = (base) => {
    leave();
    go(coinAt(base));
  };
  const onKey = (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (steps) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(hits.length - 1, at + steps)));
    } else if (event.key === "Enter" && text.trim()) take(hits[at]?.base ?? text.trim());
    else if (event.key === "Escape") leave();
  };
  useEffect(() => {
    const focus = (event) => {
      if (event.key !== "/" || typing(event)) return;
      event.preventDefault();
      box.current.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  const shown = open && text !== "" && found !== null;
  return html`<div class="search"><input ref=${box} type="search" placeholder="Find a coin" aria-label="Find a coin" role="combobox"
      aria-expanded=${shown} aria-controls="hits" aria-autocomplete="list" aria-activedescendant=${hits[at] ? `hit-${at}` : undefined}
      autocomplete="off" spellcheck=${false} value=${text} onFocus=${() => setOpen(true)} onBlur=${() => setOpen(false)} onKeyDown=${onKey}
      onInput=${(event) => {
        setText(event.target.value);
        setAt(0);
        setOpen(true);
      }} /><kbd aria-hidden="true">/</kbd>
    <ul id="hits" role="listbox" aria-label="Coins" hidden=${!shown}>${hits.map((coin, index) => html`<li id=${`hit-${index}`} role="option"
      aria-selected=${index === at} onMouseDown=${() => take(coin.base)}>${coin.base}${coin.how === "symbol" && html` <small>${coin.matched}</small>`}</li>`)}${
      shown && hits.length === 0 && html`<li role="option" aria-disabled="true" class="none">No coin is called that</li>`}</ul></div>`;
}

const typing = (event) => event.metaKey || event.ctrlKey || event.altKey || event.target.closest?.("input, textarea, select");

const GOES = { m: "/", f: "/funding", o: "/open-interest", l: "/liquidations", i: "/indices", c: "/coverage", s: "/status" };
const TOGETHER_MS = 1200; // From g to the letter after it.

// g and a letter go to a page; [ and ] choose the range before and after.
function onKeys() {
  let leader = -TOGETHER_MS;
  addEventListener("keydown", (event) => {
    if (typing(event)) return;
    const second = event.timeStamp - leader < TOGETHER_MS;
    leader = event.key === "g" ? event.timeStamp : -TOGETHER_MS;
    if (second && GOES[event.key]) go(pageAt(GOES[event.key]));
    const by = { "[": -1, "]": 1 }[event.key];
    if (!by) return;
    const ranges = [...main.querySelectorAll("[aria-label=Range] button")];
    ranges[ranges.findIndex((range) => range.getAttribute("aria-pressed") === "true") + by]?.click();
  });
}

function Tools() {
  useAddress();
  const other = () => go(withChoices({ tz: format.inUtc() ? "local" : null }));
  useEffect(() => {
    const onKey = (event) => {
      if (event.key === "u" && !typing(event)) other();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return html`<${Search} /><button type="button" class="quiet zone" title="UTC or local time (U)" onClick=${other}
    aria-label=${`Times are in ${format.zoneName()}; change`}>${format.zoneName()}</button>`;
}

const GENERATED = {
  "/dbt/": ["Tables", "The documentation of every table, column and metric is generated when the first build has ended."],
  "/quality/": ["Data quality", "The report is written after the first checks, which run once data is published, then each hour."],
};

// A page that is not there: generated ones are waited for.
function Missing() {
  const [at, [title, said]] = Object.entries(GENERATED).find(([at]) => `${location.pathname}/`.startsWith(at)) ??
    ["", ["No such page", "There is nothing at this address."]];
  useEffect(() => {
    document.title = `${title} · Tidemark`;
    if (!at) return undefined;
    const timer = setInterval(async () => {
      const answer = await fetch(at, { method: "HEAD" }).catch(() => null);
      if (answer?.ok) location.replace(at);
    }, RETRY_MS);
    return () => clearInterval(timer);
  }, []);
  return html`<h1 class="title">${title}</h1><p>${said}</p>${at
    ? html`<p class="fine" role="status">Not written yet. This page opens it as soon as it is there.</p>`
    : html`<p><${Link} href=${pageAt("/")}>Markets<//>, <a href="/docs">the API</a>, <a href="/guide/">the guide</a>.</p>`}`;
}

function Page() {
  useAddress();
  const [loaded, setLoaded] = useState({});
  const [match, module] = viewOf(location.pathname);
  useEffect(() => {
    const within = /^\/(coins|markets)\//.test(location.pathname) ? "/" : location.pathname;
    for (const link of nav.querySelectorAll("a")) {
      if (link.getAttribute("href") === within) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    // Each by its name: the module of a page that was left may arrive after that of the next.
    if (module) import(module).then(({ View }) => setLoaded((others) => ({ ...others, [module]: View })));
  }, [location.pathname]);
  if (!match) return html`<${Missing} />`;
  if (!loaded[module]) return html`<div class="hold tall"></div>`;
  return html`<${loaded[module]} key=${location.pathname} name=${match[1] && decodeURIComponent(match[1])}
    part=${match[2] && decodeURIComponent(match[2])} zone=${chosen("tz")} />`;
}

const nav = document.querySelector(".top nav");
// The header's links to pages that are drawn here load nothing, and keep the time zone.
nav.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || opensElsewhere(event) || link.origin !== location.origin || !viewOf(link.pathname)[0]) return;
  event.preventDefault();
  go(pageAt(link.pathname));
});
main.replaceChildren();
onKeys();
render(html`<${Tools} />`, document.getElementById("tools"));
render(html`<${Strip} />`, document.getElementById("strip"));
render(html`<${Page} />`, main);
