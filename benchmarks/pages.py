"""The home page with 2,000 coins in a real browser: how soon it can be used, and how it scrolls.

`python -m benchmarks.pages URL` measures a server that runs and has an edition; its coins are repeated under other
names, and it must not count requests too strictly (TIDEMARK_TRUSTED_PROXIES=127.0.0.1).
Scrolling is compared with that of a page of plain text, in the same browser and run. Needs Chromium.
"""

import shutil
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Page, Route, sync_playwright

from benchmarks.product import percentile, some_address, table

COINS, VISITS, FRAMES = 2000, 5, 180
SIZE = {"width": 1440, "height": 900}
# When the first row of the table was on the screen, by the page's own clock.
FIRST_ROW = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(".markets tbody tr")) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.firstRow = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
WHEN = """
new Promise((resolve) => {
  const look = () => (window.firstRow ? resolve(window.firstRow) : requestAnimationFrame(look));
  look();
})
"""
# Milliseconds between the frames while the page is scrolled by 40 px a frame, from top to bottom and back.
SCROLL = """
(frames) => new Promise((resolve) => {
  const times = [];
  let step = 40;
  requestAnimationFrame(function frame(time) {
    times.push(time);
    scrollBy(0, step);
    if (scrollY <= 0 || scrollY + innerHeight >= document.documentElement.scrollHeight) step = -step;
    if (times.length <= frames) requestAnimationFrame(frame);
    else resolve(times.slice(1).map((one, index) => one - times[index]));
  });
})
"""
TEXT = "<!doctype html><body>" + "<p>Plain text to scroll through.</p>" * COINS


def measure(api: str, browser: Browser) -> list[dict[str, Any]]:
    """Median time to use the page after its answer, and frames of the table and of plain text."""
    usable = []
    for _ in range(VISITS):
        page = browser.new_page(viewport=SIZE, extra_http_headers={"X-Forwarded-For": some_address()})  # type: ignore[arg-type]
        _visit(page, api)
        answered = page.evaluate("performance.getEntriesByName(location.origin + '/api/markets')[0].responseEnd")
        usable.append(page.evaluate(WHEN) - answered)
        _leave(page)
    page = browser.new_page(viewport=SIZE, extra_http_headers={"X-Forwarded-For": some_address()})  # type: ignore[arg-type]
    page.set_content(TEXT)
    plain = page.evaluate(SCROLL, FRAMES)
    _visit(page, api)
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("button", name="Show all").wait_for(state="detached")
    rows = page.evaluate(SCROLL, FRAMES)
    _leave(page)
    return [
        {
            "subject": "first row after the answer, ms",
            "p50": round(percentile(usable, 0.5), 1),
            "p95": round(max(usable), 1),
        },
        *(
            {
                "subject": f"frame, {of}, ms",
                "p50": round(percentile(times, 0.5), 1),
                "p95": round(percentile(times, 0.95), 1),
            }
            for of, times in (("plain text", plain), (f"table of {COINS:,} coins", rows))
        ),
        {
            "subject": "table ÷ plain text",
            **{f"p{n}": round(percentile(rows, n / 100) / percentile(plain, n / 100), 2) for n in (50, 95)},
        },
    ]


def _visit(page: Page, api: str) -> None:
    page.add_init_script(FIRST_ROW)
    page.route("**/api/markets", _many)
    page.route("**/api/sparklines?*", _lines)
    page.goto(api)
    page.locator(".markets tbody tr").first.wait_for()


def _leave(page: Page) -> None:
    """Close the page once nothing is under way that is answered in the server's place."""
    page.unroute_all(behavior="wait")
    page.close()


def _many(route: Route) -> None:
    answer = route.fetch()
    data = answer.json()
    found = [coin for coin in data["coins"] if not coin["hip3"]]
    data["coins"] = [
        {**found[at % len(found)], "base": f"{found[at % len(found)]['base']}.{at}"} for at in range(COINS)
    ]
    route.fulfill(response=answer, json=data)


def _lines(route: Route) -> None:
    """Sparklines of the coins that the repeated ones are of."""
    address = urlsplit(route.request.url)
    query = parse_qs(address.query)
    asked = query["c"][0].split(",")
    coins = ",".join(dict.fromkeys(name.partition(".")[0] for name in asked))
    answer = route.fetch(url=address._replace(query=f"range={query['range'][0]}&c={coins}").geturl())
    data = answer.json()
    data["series"] = {name: data["series"].get(name.partition(".")[0]) for name in asked}
    route.fulfill(response=answer, json=data)


def main() -> None:
    """Print the figures as a table."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if len(sys.argv) != 2 or chromium is None:
        sys.exit("python -m benchmarks.pages URL of a server that runs; needs Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        print(table(measure(sys.argv[1], browser)))
        browser.close()


if __name__ == "__main__":
    main()
