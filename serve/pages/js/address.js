// What is chosen on a page is in its address, so that a link shows another person the same. Defaults are left out.
export const chosen = (name, otherwise = null) => new URLSearchParams(location.search).get(name) ?? otherwise;

// The address of this page with other choices; null removes one.
export function withChoices(choices) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(choices)) {
    if (value == null) query.delete(name);
    else query.set(name, value);
  }
  return location.pathname + (query.size ? `?${query}` : "");
}

// The address of another page, which keeps the time zone alone.
export function pageAt(path) {
  const zone = chosen("tz");
  return zone ? `${path}?tz=${encodeURIComponent(zone)}` : path;
}

export const coinAt = (base) => pageAt(`/coins/${encodeURIComponent(base)}`);

export const marketAt = (market) => pageAt(`/markets/${market}`);

// Where the number of a bucket came from; `of` has the series' own choices, null leaves one out.
export function explanationAt(of) {
  const given = Object.entries({ ...of, tz: chosen("tz") }).filter(([, value]) => value != null);
  return `/explain?${new URLSearchParams(given)}`;
}

// Change the address without loading: `app.js` draws the page again.
export function go(address) {
  const leaves = new URL(address, location).pathname !== location.pathname;
  history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
  if (leaves) {
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  }
}
