// Requests to the public API: the only source of what the pages show.
import { useEffect, useState } from "../vendor/preact/preact.js";

const EVERY_MS = 60_000;
const FOLLOWING_MS = 600_000; // While the server says what changes.
const NOTHING_S = 5;
const FRESH_MS = 3000; // What another part of the page has just received is not asked for again.
const KEY = "apiKey"; // Of this tab alone.
const kept = new Map(); // Path → the newest answer, its ETag and its edition.
const running = new Map(); // Path → the request under way, which others wait for.
const shown = new Set(); // What is on the page: its path, and the function that asks for it again.
let events = null; // The connection on which the server says that there is a new edition.
let had = null; // The edition of its last event.

// An answer that is not data: `retryS` is when the server says that asking again makes sense.
export class Refused extends Error {
  constructor(status, body, retryS) {
    super(body.error ?? `status ${status}`);
    Object.assign(this, { status, state: body.state, retryS });
  }
}

export const apiKey = {
  get: () => sessionStorage.getItem(KEY),
  set: (key) => (key ? sessionStorage.setItem(KEY, key) : sessionStorage.removeItem(KEY)),
};

// The data at a path; raises Refused, or a TypeError if the server does not answer. What has not changed since the last
// request is not sent again, and costs no budget.
export function ask(path, changed = false) {
  if (!running.has(path)) running.set(path, send(path, changed).finally(() => running.delete(path)));
  return running.get(path);
}

async function send(path, changed) {
  const known = kept.get(path);
  if (known && !changed && Date.now() - known.at < FRESH_MS) return known.data;
  const headers = {};
  if (known?.etag) headers["If-None-Match"] = known.etag;
  if (apiKey.get()) headers["X-API-Key"] = apiKey.get();
  const response = await fetch(path, { headers });
  const edition = Number(response.headers.get("X-Edition")) || null;
  if (response.status === 304) {
    Object.assign(known, { at: Date.now(), edition });
    return known.data;
  }
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    throw new Refused(response.status, body, Number(response.headers.get("Retry-After")) || null);
  }
  const data = await response.json();
  // What is answered without an edition holds nothing to show, but the state of the service itself.
  if (!edition && path !== "/api/status") throw new Refused(503, { error: "nothing can be read yet" }, NOTHING_S);
  kept.set(path, { data, etag: response.headers.get("ETag"), at: Date.now(), edition });
  return data;
}

// Follows the editions while the page is visible: what one changed is asked for again, nothing else. A server that has
// no place for the connection is asked each minute, as without it.
function follow() {
  if (events || document.hidden || !shown.size) return;
  const editions = [...shown].map(({ path }) => kept.get(path)?.edition).filter(Boolean);
  had = editions.length ? Math.min(...editions) : null;
  events = new EventSource(had ? `/api/events?since=${had}` : "/api/events");
  events.addEventListener("edition", ({ data }) => {
    const { edition, changed } = JSON.parse(data);
    const patterns = changed?.map((path) => new RegExp(`^${path.replace(/{\w+}/g, "[^/]+")}$`));
    for (const { path, again } of shown) {
      const [resource] = path.split("?");
      const known = kept.get(path)?.edition;
      const differs = !patterns || known == null || known < had || patterns.some((pattern) => pattern.test(resource));
      if (known !== edition && differs) again(true);
    }
    had = edition;
  });
  events.addEventListener("error", () => {
    if (events?.readyState === EventSource.CLOSED) events = null;
  });
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    events?.close();
    events = null;
  } else follow();
});

// What is known of a path now: `data` (null before the first answer), `error` of the last request, and `at`, when the
// data arrived. Asked again while the tab is visible when an edition changed it, each minute where no server says so, and
// when the server says so after a refusal.
export function useAnswer(path) {
  const [state, setState] = useState({ path, error: null });
  useEffect(() => {
    if (!path) return undefined;
    let alive = true;
    let timer;
    const round = async (changed) => {
      clearTimeout(timer);
      if (document.hidden) {
        document.addEventListener("visibilitychange", whenVisible, { once: true });
        return;
      }
      let error = null;
      await ask(path, changed).catch((reason) => {
        error = reason;
      });
      if (!alive) return;
      setState({ path, error });
      follow();
      clearTimeout(timer);
      timer = setTimeout(error ? round : due, error?.retryS ? error.retryS * 1000 : EVERY_MS, false);
    };
    const due = () => {
      const follows = events?.readyState === EventSource.OPEN && Date.now() - kept.get(path).at < FOLLOWING_MS;
      if (follows) timer = setTimeout(due, EVERY_MS);
      else round(false);
    };
    const whenVisible = () => round(false);
    const one = { path, again: round };
    shown.add(one);
    round(false);
    return () => {
      alive = false;
      shown.delete(one);
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", whenVisible);
    };
  }, [path]);
  const answer = path ? kept.get(path) : null;
  return { data: answer?.data ?? null, at: answer?.at ?? null, error: state.path === path ? state.error : null };
}
