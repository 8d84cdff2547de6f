// Requests to the public API: the only source of what the pages show.
import { useEffect, useState } from "../vendor/preact/preact.js";

const EVERY_MS = 60_000;
const FRESH_MS = 3000; // What another part of the page has just received is not asked for again.
const KEY = "apiKey"; // Of this tab alone.
const kept = new Map(); // Path → the newest answer and its ETag.
const running = new Map(); // Path → the request under way, which others wait for.

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
export function ask(path) {
  if (!running.has(path)) running.set(path, send(path).finally(() => running.delete(path)));
  return running.get(path);
}

async function send(path) {
  const known = kept.get(path);
  if (known && Date.now() - known.at < FRESH_MS) return known.data;
  const headers = {};
  if (known?.etag) headers["If-None-Match"] = known.etag;
  if (apiKey.get()) headers["X-API-Key"] = apiKey.get();
  const response = await fetch(path, { headers });
  if (response.status === 304) {
    known.at = Date.now();
    return known.data;
  }
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    throw new Refused(response.status, body, Number(response.headers.get("Retry-After")) || null);
  }
  const data = await response.json();
  kept.set(path, { data, etag: response.headers.get("ETag"), at: Date.now() });
  return data;
}

// What is known of a path now: `data` (null before the first answer), `error` of the last request, and `at`, when the
// data arrived. Asked again each minute while the tab is visible, and when the server says so after a refusal.
export function useAnswer(path) {
  const [state, setState] = useState({ path, error: null });
  useEffect(() => {
    if (!path) return undefined;
    let alive = true;
    let timer;
    const round = async () => {
      if (document.hidden) {
        document.addEventListener("visibilitychange", round, { once: true });
        return;
      }
      let error = null;
      await ask(path).catch((reason) => {
        error = reason;
      });
      if (!alive) return;
      setState({ path, error });
      timer = setTimeout(round, error?.retryS ? error.retryS * 1000 : EVERY_MS);
    };
    round();
    return () => {
      alive = false;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", round);
    };
  }, [path]);
  const answer = path ? kept.get(path) : null;
  return { data: answer?.data ?? null, at: answer?.at ?? null, error: state.path === path ? state.error : null };
}
