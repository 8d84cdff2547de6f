"""The pages for people: what they are made of, and what a person sees of them in a real browser."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.request import build_opener, install_opener

import duckdb
import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from serve.pages.pages import FILES_AT, FOLDER, PAGE_HEADERS, SURFACES, VIEWS, Pages, data_request
from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.servers.api_server import ROOT, Api, free_port, running, some_address

VENDOR = FOLDER / "vendor"
HTML = "text/html,application/xhtml+xml,*/*;q=0.8"  # As browsers ask.
MINUTE, HOUR = 60_000, 3_600_000
NONE = "\N{EN DASH}"
FILES = Pages().files


# What is served.


@pytest.mark.requirement("pages:negotiated", "http:etag")
def test_a_browser_gets_the_page_and_others_the_list(api: Api) -> None:
    page, listed = api.get("/", Accept=HTML), api.get("/", Accept="*/*")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert listed.json["openapi"] == "/openapi.json"
    assert page.headers["etag"] != listed.headers["etag"]
    for answer, accept in ((page, HTML), (listed, "*/*")):
        assert answer.headers["vary"].split(", ")[0] == "Accept"
        assert api.get("/", Accept=accept, If_None_Match=answer.headers["etag"]).status == 304
    assert "Accept" not in api.get("/api/status").headers["vary"].split(", ")


@pytest.mark.requirement("pages:shell", "docs:served")
def test_unknown_addresses_are_404_pages_for_browsers_alone(api: Api) -> None:
    nowhere = ("/coins/NOPE", "/coins/BTC/nope", "/coins/NOPE/oi", "/catalog/nope", "/options/NOPE", "/markets/BTC")
    for path in ("/nope", "/coins", *nowhere, "/quality/", "/dbt/nope.html"):
        answer = api.get(path, Accept=HTML)
        assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8"), path
        assert answer.headers["cache-control"] == "no-store"
        assert api.get(path, Accept=HTML, If_None_Match=answer.headers["etag"]).status == 404
        assert api.get(path).error
    for path in ("/api/nope", f"{FILES_AT}nope.js", f"{FILES_AT}shell.html", f"{FILES_AT}../app.py"):
        assert api.get(path, Accept=HTML).error


@pytest.mark.requirement("pages:shell")
def test_a_page_leads_to_its_request(api: Api) -> None:
    for path, request in {
        "/index.json": "/api/markets",
        "/coins/BTC.json": "/api/coin/BTC",
        "/catalog.json": "/api/metrics",
        "/status.json": "/api/status",
        "/coins/xyz%3ATSLA.json": "/api/coin/xyz%3ATSLA",
    }.items():
        answer = api.get(path)
        assert (answer.status, answer.headers["location"]) == (307, request)
        assert api.get(request).status == 200
        assert data_request(path.removesuffix(".json"), "") is None
    for path, request in {"/index.csv": "/api/markets?format=csv", "/spikes/BTC.json": "/api/spike-stats/BTC"}.items():
        assert api.get(path).headers["location"] == request
    assert api.get(api.get("/index.csv").headers["location"]).headers["content-type"].startswith("text/csv")
    assert data_request("/coins/BTC/oi.csv", "") == "/api/series/oi?base=BTC&by=venue&format=csv"
    assert data_request("/explain.json", "metric=oi&t=1") == "/api/explain?metric=oi&t=1"
    assert data_request("/coins/BTC.json", "range=1d") == "/api/coin/BTC"
    alternate = '<link rel="alternate" type="application/json" href="/api/coin/BTC">'
    assert alternate in api.get("/coins/BTC", Accept=HTML).body.decode()


@pytest.mark.requirement("pages:policy", "http:coding", "http:304")
@pytest.mark.parametrize("path", ["/", "/coins/BTC", "/docs", "/guide/", *(f"{FILES_AT}{name}" for name in FILES)])
def test_everything_has_the_policy_an_etag_and_a_coding(api: Api, path: str) -> None:
    answer = api.get(path, Accept=HTML, Accept_Encoding="gzip")
    assert answer.status == 200
    assert {name: answer.headers[name] for name in PAGE_HEADERS} == PAGE_HEADERS
    assert "unsafe" not in PAGE_HEADERS["content-security-policy"]
    assert "*" not in PAGE_HEADERS["content-security-policy"]
    plain = api.get(path, Accept=HTML)
    assert ("content-encoding" in answer.headers) == (len(plain.body) > 1024 and not path.endswith(".woff2"))
    assert len(answer.body) <= len(plain.body)
    assert "x-ratelimit-limit" not in answer.headers
    known = api.get(path, Accept=HTML, Accept_Encoding="gzip", If_None_Match=answer.headers["etag"])
    assert (known.status, known.body) == (304, b"")


@pytest.mark.requirement("pages:policy")
def test_no_page_has_a_script_or_a_style_in_its_html(api: Api) -> None:
    for path in ("/", "/coins/BTC", "/nope", "/docs", "/guide/"):
        text = api.get(path, Accept=HTML).body.decode()
        assert re.findall(r"<script(?![^>]* src=)|<style| style=| on\w+=|javascript:", text) == []


@pytest.mark.requirement("pages:header")
def test_every_page_has_the_header(api: Api) -> None:
    for path in ("/", "/coins/BTC", "/docs", "/guide/", "/guide/api", "/nope"):
        text = api.get(path, Accept=HTML).body.decode()
        assert all(f'href="{at}"' in text for at in SURFACES)
        assert text.count('<header class="top">') == 1
    assert 'href="/docs" aria-current="page"' in api.get("/docs").body.decode()
    assert b'"http://127.0.0.1:3000" data-this-machine hidden' in Pages("http://127.0.0.1:3000").shell("/").data
    assert b"Dagster" not in Pages().shell("/").data


@pytest.mark.requirement("pages:shell", "docs:served")
@pytest.mark.parametrize("template", ["page.j2", "index_page.j2"])
def test_the_quality_report_is_under_the_header(tmp_path: Path, template: str) -> None:
    """As its templates write it: without a server it has a header of its own."""
    report = (ROOT / "orchestration/quality/pages_j2" / template).read_text().partition("#}\n")[2]
    (tmp_path / "quality").mkdir()
    (tmp_path / "quality" / "index.html").write_text(report.replace("<main>", "<main>$5 of 6"))
    (tmp_path / "quality" / "other.html").write_text("not a report")
    publish(tmp_path / "serving", 1, max_days=0)
    with running(tmp_path / "serving", free_port(), quality=tmp_path / "quality") as api:
        page = api.get("/quality/").body.decode()
        assert '<a href="/quality/" aria-current="page">Quality</a>' in page
        assert page.count("<nav") == 1
        assert page.count("<html") == page.count("<style>") == 1
        assert "<main>$5 of 6" in page
        assert api.get("/quality/other.html").body == b"not a report"


@pytest.mark.requirement("pages:offline")
def test_vendored_files_are_those_that_are_listed() -> None:
    listed = dict(re.findall(r"^\| `([\w./-]+)` \| `([0-9a-f]{64})` \|$", (VENDOR / "VENDOR.md").read_text(), re.M))
    swagger = json.loads((VENDOR / "swagger-ui" / "manifest.json").read_text())
    listed |= {f"swagger-ui/{name}": digest for name, digest in swagger["sha256"].items()}
    files = {path.relative_to(VENDOR).as_posix(): path.read_bytes() for path in VENDOR.glob("*/*")}
    del files["swagger-ui/manifest.json"]
    assert {name: hashlib.sha256(data).hexdigest() for name, data in files.items()} == listed
    assert f'"{swagger["version"]}"'.encode() in files["swagger-ui/swagger-ui-bundle.js"]
    assert {
        folder.name for folder in VENDOR.iterdir() if folder.is_dir() and not list(folder.glob("LICENSE*"))
    } == set()


@pytest.mark.requirement("pages:offline")
def test_an_installation_has_every_file() -> None:
    globs = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["serve"]
    installed = {path for pattern in globs for path in (ROOT / "serve").glob(pattern) if path.is_file()}
    assert installed >= {path for path in FOLDER.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}


# What a person sees.


class Visit:
    """A page in a browser at an address of its own, with what went wrong on it."""

    def __init__(self, context: BrowserContext, api: Api) -> None:
        self.at = f"http://127.0.0.1:{api.port}"
        self.asked: list[str] = []
        self.faults: list[str] = []
        self.expected: str | None = None
        """A status that a test answers with, which the browser says each time, also after the test."""
        self.page: Page = context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, path: str, ready: str) -> Page:
        """Go to a page and wait until it shows what is named."""
        self.page.goto(self.at + path)
        self.page.locator(ready).first.wait_for()
        return self.page

    def json(self, path: str) -> Any:
        """What the API answers to the page's own origin."""
        return self.page.request.get(self.at + path).json()


@pytest.fixture
def visit(browser: Browser, api: Api) -> Iterator[Visit]:
    headers = {"X-Forwarded-For": some_address()}  # A budget of its own.
    with browser.new_context(viewport={"width": 1440, "height": 1000}, extra_http_headers=headers) as context:
        visit = Visit(context, api)
        yield visit
        visit.page.unroute_all(behavior="wait")  # What answers in a test's place may still be at it.
        assert [fault for fault in visit.faults if not visit.expected or visit.expected not in fault] == []
        assert [url for url in visit.asked if not url.startswith((visit.at, "data:", "blob:"))] == []


ROW = ".markets tbody tr"
CHART = ".charts canvas"
COIN = "/coins/BTC?range=6h"


def answer_with(visit: Visit, path: str, change: Any) -> None:
    """Requests to a path are answered by the API, then changed."""

    def changed(route: Route) -> None:
        answer = route.fetch()
        data = answer.json()
        change(data)
        route.fulfill(response=answer, json=data)

    visit.page.route(path, changed)


@pytest.mark.requirement("pages:true", "pages:offline")
def test_the_table_shows_what_the_api_answers(visit: Visit) -> None:
    page = visit.open("/", f"{ROW} svg.spark")
    coins = {coin["base"]: coin for coin in visit.json("/api/markets")["coins"] if not coin["hip3"]}
    expect(page.locator(f"{ROW} th")).to_have_count(len(coins))
    btc = page.locator(ROW, has=page.get_by_role("link", name="BTC", exact=True))
    expect(btc).to_contain_text(f"${coins['BTC']['oi_usd'] / 1e6:.0f}M")
    expect(btc).to_contain_text("+0.0100%")
    # A market of PEPE is missing in its sums, and all that is not known has no column.
    expect(page.locator(ROW, has=page.get_by_role("link", name="PEPE"))).to_contain_text("≥ $")
    assert "/api/sparklines?" in "".join(visit.asked)


@pytest.mark.requirement("pages:usable")
def test_of_two_thousand_coins_only_those_near_the_view_are_drawn(visit: Visit) -> None:
    def many(data: Any) -> None:
        coin = next(coin for coin in data["coins"] if not coin["hip3"])
        data["coins"] = [{**coin, "base": f"C{number:04}", "oi_usd": 1e9 - number} for number in range(2000)]

    def no_lines(route: Route) -> None:
        route.fulfill(json={"series": {}}, headers={"X-Edition": "1842"})

    answer_with(visit, "**/api/markets", many)
    visit.page.route("**/api/sparklines?*", no_lines)
    page = visit.open("/", ROW)
    page.get_by_role("button", name="Show all 2000").click()
    row = page.locator(f"{ROW} th", has_text="C0199").bounding_box()
    assert row is not None
    for at, coin in (("document.body.scrollHeight", "C1999"), ("0", "C0000")):
        page.evaluate(f"scrollTo(0, {at})")
        expect(page.locator(f"{ROW} th", has_text=coin)).to_be_visible()
        assert page.locator(f"{ROW} th").count() < 500
        assert page.evaluate("document.documentElement.scrollHeight") > 1900 * row["height"]


@pytest.mark.requirement("pages:true")
def test_sorting_is_in_the_address(visit: Visit) -> None:
    page = visit.open("/", ROW)
    first = page.locator(f"{ROW} th").first
    page.get_by_role("button", name="Coin").click()
    page.get_by_role("button", name="Coin").click()
    assert "sort=base" in page.url
    assert "dir=asc" in page.url
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Coin▲")
    expect(first).to_have_text("BTC")
    visit.open(page.url.removeprefix(visit.at), ROW)
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Coin▲")
    page.go_back()


@pytest.mark.requirement("pages:true")
def test_columns_without_any_value_are_left_out_and_named(visit: Visit) -> None:
    def young(data: Any) -> None:
        for coin in data["coins"]:
            coin["oi_24h"] = None
            for market in (*coin["perps"], *coin["spots"]):
                market["px_24h"] = None

    answer_with(visit, "**/api/markets", young)
    page = visit.open("/", ROW)
    expect(page.get_by_role("columnheader", name="24 h", exact=True)).to_have_count(0)
    expect(page.locator(".panel > .fine")).to_contain_text(
        "Left out until they have a value: 24 h change; Change of open interest"
    )


@pytest.mark.requirement("pages:true")
def test_the_catalogue_has_every_metric_and_links_that_answer(visit: Visit, api: Api) -> None:
    page = visit.open("/catalog", ".metric")
    metrics = visit.json("/api/metrics")["metrics"]
    assert page.locator(".metric").evaluate_all("all => all.map(one => one.id)") == [one["metric"] for one in metrics]
    expect(page.locator("#oi")).to_contain_text(next(one["formula"] for one in metrics if one["metric"] == "oi"))
    links = page.locator(".metric a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert len(links) == 2 * len(metrics)
    assert {link: api.get(link).status for link in links} == dict.fromkeys(links, 200)


@pytest.mark.requirement("pages:true")
def test_the_state_of_each_exchange_is_shown(visit: Visit) -> None:
    page = visit.open("/", ROW)
    page.locator(".top nav").get_by_role("link", name="Coverage").click()  # Without loading the page again.
    expect(page.locator(".top nav [aria-current]")).to_have_text("Coverage")
    page.locator("#strip").get_by_role("link", name="Status").click()
    expect(page.get_by_role("region", name="Exchanges").locator("tbody tr")).to_have_count(3)
    bybit = page.get_by_role("region", name="Exchanges").get_by_role("row", name="bybit")
    expect(bybit).to_contain_text("in part")
    expect(bybit).to_contain_text("503 Service Unavailable")
    expect(page.locator(".top nav [aria-current]")).to_have_count(0)
    assert len([url for url in visit.asked if url.endswith("/js/app.js")]) == 1


@pytest.mark.requirement("pages:usable")
def test_pages_and_ranges_are_chosen_by_keys(visit: Visit) -> None:
    page = visit.open("/coins/BTC", CHART)
    page.keyboard.press("]")
    page.wait_for_url("**/coins/BTC?range=30d")
    page.keyboard.press("[")
    page.wait_for_url("**/coins/BTC")
    page.keyboard.press("f")  # Alone it is no key.
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url("**/funding")
    expect(page.locator(HEAD)).to_have_text("Funding")


@pytest.mark.requirement("pages:usable")
def test_a_coin_is_found_by_keys(visit: Visit) -> None:
    page = visit.open("/", ROW)
    page.keyboard.press("/")
    page.keyboard.type("pe")
    expect(page.get_by_role("option", name="PEPE")).to_be_visible()
    page.keyboard.press("Enter")
    page.locator(CHART).first.wait_for()
    assert page.url == f"{visit.at}/coins/PEPE"


@pytest.mark.requirement("pages:usable")
def test_theme_and_time_zone_by_keys(visit: Visit) -> None:
    page = visit.open("/", ROW)
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("u")
    assert page.url.endswith("/?tz=local")
    expect(page.get_by_role("button", name="Times are in")).to_be_visible()
    visit.open("/guide/", "main h1")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.requirement("pages:true", "pages:usable")
def test_a_chart_is_read_by_keys_as_the_api_answers(visit: Visit) -> None:
    page = visit.open(COIN, CHART)
    answer = visit.json("/api/series/price?base=BTC&range=6h&step=1m&coverage=1")
    expect(page.locator(CHART)).to_have_count(4)
    page.locator(".charts").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    second = answer["v"][answer["t"].index(answer["start"] + MINUTE)]
    expect(page.locator(".price .reads")).to_have_text(f"{second:,.0f}")
    expect(page.locator(".charts [aria-live]")).to_contain_text(f"Price {second:,.0f}; Open interest $")
    page.keyboard.press("Escape")
    expect(page.locator(".when")).to_be_empty()


@pytest.mark.requirement("pages:true")
def test_what_was_not_recorded_is_said_in_words_and_in_the_table(visit: Visit) -> None:
    def with_gap(data: Any) -> None:
        gap = {"start": data["start"] + 10 * MINUTE, "end": data["start"] + 15 * MINUTE, "reason": "recorder_down"}
        price = data["series"]["price"]
        price["gaps"] = [{**gap, "venue": None}, {**gap, "venue": "okx", "reason": "partial"}]
        for place, t in enumerate(data["t"]):
            if gap["start"] <= t < gap["end"]:
                for name in ("v", "n", "expected", "origin"):
                    price[name][place] = None

    answer_with(visit, "**/api/series?*", with_gap)
    page = visit.open(f"{COIN}&table=1", ".values tbody tr")
    answer = visit.json("/api/series/price?base=BTC&range=6h&step=1m&coverage=1")
    expect(page.locator(".missing li")).to_have_count(2)
    expect(page.locator(".missing li").first).to_contain_text("recorder was down")
    expect(page.locator(".missing li").last).to_contain_text("in part: okx")
    page.get_by_role("button", name="Show all").click()
    rows = page.locator(".values tbody tr")
    expect(rows).to_have_count((answer["end"] - answer["start"]) // MINUTE + 1)
    down = rows.filter(has_text="recorder was down")
    expect(down).to_have_count(5)
    expect(down.first).to_contain_text(NONE)
    expect(rows.filter(has_text="recorded").first).to_contain_text(f"{answer['v'][-1]:,.0f}")


@pytest.mark.requirement("pages:true", "limits:429")
def test_a_spent_budget_leaves_the_charts_in_their_place(visit: Visit) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=429, headers={"retry-after": "37"}, json={"error": "more than 30 requests"})

    visit.page.route("**/api/series?*", refuse)
    page = visit.open(COIN, ".notice.bad")
    expect(page.locator(".notice.bad")).to_contain_text(
        "Charts: the request budget of this address is spent; asked again in 37 s"
    )
    expect(page.locator(CHART)).to_have_count(4)
    expect(page.locator(".oi .reads")).to_have_text(NONE)
    expect(page.locator(".missing")).to_contain_text("budget spent")
    expect(page.get_by_role("region", name="By exchange").locator("tbody tr").first).to_contain_text("$")
    assert visit.faults
    visit.expected = "429"


@pytest.mark.requirement("pages:true")
def test_before_the_first_edition_the_page_waits(visit: Visit) -> None:
    def loading(route: Route) -> None:
        body = {"error": "the data cannot be read now: nothing is published yet", "state": "loading"}
        route.fulfill(status=503, headers={"retry-after": "5"}, json=body)

    visit.page.route("**/api/markets", loading)
    page = visit.open("/", ".notice")
    expect(page.locator(".notice").first).to_have_text("Markets, not yet: nothing is published yet")
    visit.page.unroute("**/api/markets")
    expect(page.locator(ROW).first).to_be_visible(timeout=20_000)  # Asked again after Retry-After.
    visit.faults.clear()


@pytest.mark.requirement("pages:true")
def test_without_any_edition_no_page_says_that_all_is_well(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "serving").mkdir()
    with running(tmp_path / "serving", free_port()) as empty, browser.new_context() as context:
        visit = Visit(context, empty)
        page = visit.open("/status", ".notice")
        expect(page.locator(".strip")).to_contain_text("Nothing yet")
        expect(page.locator("main")).to_contain_text("Nothing to show yet")
        expect(page.locator("main")).not_to_contain_text("found nothing")
        visit.open("/coins/BTC", CHART)
        expect(page.locator(".missing")).to_contain_text("nothing can be read yet")
        expect(page.locator(".price .reads")).to_have_text(NONE)


@pytest.mark.requirement("pages:followed")
def test_a_page_asks_again_for_what_an_edition_changed(browser: Browser, tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    publish(serving, 1, max_days=2)
    with running(serving, free_port()) as api, browser.new_context() as context:
        visit = Visit(context, api)
        page = visit.open("/options/BTC", PANEL)
        expect(page.locator("#strip")).to_contain_text("edition 1")
        with page.expect_response("**/api/status"):
            publish(serving, 2, max_days=2)
        expect(page.locator("#strip")).to_contain_text("edition 2")
        asked = [url.removeprefix(visit.at).partition("?")[0] for url in visit.asked if "/api/" in url]
        assert sorted(asked) == [
            "/api/events", "/api/options/BTC", "/api/options/BTC/iv", "/api/options/BTC/smile", "/api/status",
            "/api/status",
        ]  # fmt: skip


@pytest.mark.requirement("pages:true")
def test_an_unknown_coin_has_neighbours(visit: Visit) -> None:
    page = visit.open("/coins/BTX", "h1.title")
    expect(page.locator("main").get_by_role("link", name="BTC", exact=True)).to_be_visible()
    visit.faults.clear()


@pytest.mark.requirement("pages:shell")
def test_what_is_not_written_yet_says_so(visit: Visit) -> None:
    page = visit.open("/quality/", "h1.title")
    expect(page.locator("main")).to_contain_text("Not written yet")
    visit.open("/nope", "h1.title")
    expect(page.locator("main")).to_contain_text("nothing at this address")
    visit.faults.clear()


@pytest.mark.requirement("pages:true")
def test_the_strip_counts_the_age(visit: Visit) -> None:
    page = visit.open("/", ".strip .age")
    answer_with(visit, "**/api/status", lambda data: data.update(age_s=3.0))
    visit.open("/", ROW)
    expect(page.locator(".strip .age")).to_have_text("3 s")
    expect(page.locator(".strip .age")).to_have_text("5 s")
    expect(page.locator(".answering")).to_contain_text("2 of 3")


@pytest.mark.requirement("pages:true", "limits:polled")
def test_without_a_connection_for_events_a_page_asks_each_minute(visit: Visit) -> None:
    visit.expected = "429"
    visit.page.clock.install()
    visit.page.route("**/api/events*", lambda route: route.fulfill(status=429, json={"error": "taken"}))
    page = visit.open("/", f"{ROW} svg.spark")
    with page.expect_response(lambda response: "/api/markets" in response.url) as second:
        page.clock.fast_forward(60_000)
    assert second.value.status == 304
    assert second.value.request.headers["if-none-match"]
    expect(page.locator(ROW).first).to_be_visible()


@pytest.mark.requirement("pages:usable")
@pytest.mark.parametrize(
    ("path", "ready"),
    [("/", ROW), (f"{COIN}&table=1", CHART), ("/status", "td"), ("/catalog", ".metric"), ("/guide/", "h1")],
)
def test_no_page_scrolls_sideways_on_a_telephone(visit: Visit, path: str, ready: str) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open(path, ready)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


# What a first visit may cost, compressed: scripts, style sheets and fonts in bytes, and requests for data.
LARGEST = {"js": 60_000, "css": 10_000, "woff2": 45_000}


@pytest.mark.requirement("pages:policy")
@pytest.mark.parametrize(("path", "ready", "requests"), [("/", f"{ROW} svg.spark", 6), ("/coins/BTC", CHART, 5)])
def test_a_first_visit_is_small(visit: Visit, api: Api, path: str, ready: str, requests: int) -> None:
    visit.open(path, ready)
    paths = [url.removeprefix(visit.at) for url in visit.asked]
    for kind, largest in LARGEST.items():
        files = [name for name in paths if name.endswith(f".{kind}")]
        assert 0 < sum(len(api.get(name, Accept_Encoding="gzip").body) for name in files) <= largest, kind
    assert 0 < len([name for name in paths if name.startswith("/api/")]) <= requests


# Pages that are declared.
HEAD = "main h1"
PANEL = "main .panel"
NAMES = {"base": "BTC", "coin": "BTC", "metric": "oi", "market": "binance:perp:BTCUSDT"}
BOARDS = [path for path in VIEWS if path not in ("/", "/coins/{base}")]
REQUESTS = 6


# A page of one number needs to be asked for one.
NUMBER = f"/explain?metric=oi&base=BTC&t={AS_OF_MS - 60 * MINUTE}"


def address(path: str) -> str:
    return NUMBER if NUMBER.startswith(f"{path}?") else re.sub(r"{(\w+)}", lambda name: NAMES[name[1]], path)


def run_curl(text: str, folder: Path) -> int:
    """Bytes that the command prints, which must not be an error."""
    (folder / ".curlrc").write_text(f'header = "X-Forwarded-For: {some_address()}"\nsilent\nshow-error\nfail\n')
    done = subprocess.run(
        ["bash", "-c", text], env=os.environ | {"CURL_HOME": str(folder)}, capture_output=True, timeout=60, check=True
    )
    return len(done.stdout)


def run_python(text: str, folder: Path) -> int:
    """Rows of the frame that the script makes; it asks from an address of its own."""
    address = {"X-Forwarded-For": some_address()}
    opener = build_opener()
    opener.addheaders += list(address.items())
    install_opener(opener)
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests.sessions, "default_headers", lambda: requests.structures.CaseInsensitiveDict(address))
        exec(text, names)
    return len(names["df"])


def run_duckdb(text: str, folder: Path) -> int:
    """Rows of the statement."""
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as con:
        [extension] = Path(str(resources.files("duckdb_extension_httpfs"))).rglob("httpfs.duckdb_extension")
        con.execute(f"load '{extension}'")
        con.execute("create secret (type http, extra_http_headers map {'X-Forwarded-For': ?})", [some_address()])
        return len(con.execute(text).fetchall())


@pytest.mark.requirement("pages:usable")
@pytest.mark.parametrize("path", ["/", "/coins/BTC", *(address(path) for path in BOARDS)])
def test_every_snippet_of_every_page_runs(visit: Visit, tmp_path: Path, path: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    runners = {"curl": run_curl, "Python": run_python, "DuckDB": run_duckdb}
    page = visit.open(path, PANEL)
    source = page.locator("main").get_by_role("button", name="Source", exact=True)
    for button in source.all():
        button.click()
    for panel in page.locator("main .source").all():
        found = {}
        for tab in panel.get_by_role("tab").all():
            tab.click()
            name = tab.inner_text()
            found[name] = runners[name](panel.locator("pre code").inner_text(), tmp_path)
        assert found.pop("curl") > 0
        assert len(found) == 2
        assert len(set(found.values())) == 1, found


@pytest.mark.requirement("pages:usable", "pages:policy", "pages:offline")
@pytest.mark.parametrize("path", [address(path) for path in BOARDS])
def test_every_page_is_drawn_small_and_fits_a_telephone(visit: Visit, api: Api, path: str) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open(path, PANEL)
    expect(page.locator(HEAD)).not_to_be_empty()
    expect(page.locator("main .hold")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    paths = [url.removeprefix(visit.at) for url in visit.asked]
    for kind, largest in LARGEST.items():
        files = [name for name in paths if name.endswith(f".{kind}")]
        assert 0 < sum(len(api.get(name, Accept_Encoding="gzip").body) for name in files) <= largest, kind
    assert 0 < len({name for name in paths if name.startswith("/api/")}) <= REQUESTS
    # Not written yet is an answer; the browser says it of each request.
    visit.expected = "503"


@pytest.mark.requirement("pages:shell")
@pytest.mark.parametrize("path", [address(path) for path in BOARDS])
def test_every_page_leads_to_its_request(api: Api, path: str) -> None:
    led = api.get(path.replace("?", ".json?") if "?" in path else f"{path}.json")
    assert led.status == 307
    assert api.get(led.headers["location"]).status in (200, 503)


@pytest.mark.requirement("pages:true")
def test_funding_of_a_coin_on_an_exchange_is_the_api_s(visit: Visit) -> None:
    page = visit.open("/funding", "td.heated")
    coins = {coin["base"]: coin for coin in visit.json("/api/markets")["coins"]}
    perps = [perp for perp in coins["BTC"]["perps"] if perp["venue"] == "binance" and perp["funding"] is not None]
    rate = max(perps, key=lambda perp: perp["oi_usd"] or -1)["funding"]
    heads = page.locator("table").first.locator("thead th").all_inner_texts()
    row = page.locator("table").first.locator("tbody tr", has=page.get_by_role("link", name="BTC", exact=True))
    expect(row.locator("th, td").nth(heads.index("binance"))).to_have_text(f"{rate * 100:+.4f}%")


@pytest.mark.requirement("pages:true")
def test_a_table_is_sorted_by_its_address(visit: Visit) -> None:
    page = visit.open("/open-interest?sort=coins.0.asc", f"{PANEL} tbody tr")
    coins = page.get_by_role("region", name="By coin").locator("tbody th")
    shown = coins.all_inner_texts()
    assert len(shown) > 1
    assert shown == sorted(shown)
    page.get_by_role("region", name="By coin").get_by_role("button", name="Coin").click()
    expect(coins.first).to_have_text(max(shown))
    assert "sort=coins.0.desc" in page.url


@pytest.mark.requirement("pages:true")
def test_the_calendar_says_what_was_recorded(visit: Visit) -> None:
    page = visit.open("/coverage", ".calendar tbody tr")
    data = visit.json("/api/coverage?window=30d")
    venue = data["rows"][0]["venue"]
    rows = [row for row in data["rows"] if row["venue"] == venue]
    recorded, minutes = (sum(value or 0 for row in rows for value in row[name]) for name in ("recorded", "minutes"))
    row = page.locator(".calendar tbody tr", has=page.get_by_role("button", name=venue, exact=True))
    expect(row.locator("td").first).to_have_text(f"{recorded / minutes * 100:.2f}%")
    expect(row.get_by_role("img")).to_have_count(30)
    expect(row.get_by_role("img").last).to_have_attribute("aria-label", re.compile("recorded|not begun|request"))
    row.get_by_role("button").click()
    expect(page.locator(".calendar .kind")).to_have_count(len(rows))
    assert f"venue={venue}" in page.url


@pytest.mark.requirement("pages:true")
def test_a_day_of_the_calendar_opens_to_its_minutes(visit: Visit) -> None:
    """The strips are as long as what was recorded of each kind, less its gaps, which the table lists."""
    day = datetime.fromtimestamp((AS_OF_MS - 300 * MINUTE) / 1000, UTC).strftime("%Y-%m-%d")
    page = visit.open("/coverage?venue=binance", ".calendar .kind")
    page.locator(f'.calendar .kind [data-day="{day}"]').first.click()
    strip = page.get_by_role("region", name=f"binance, {day}").get_by_role("img", name="perp_tickers")
    strip.wait_for()
    assert f"day={day}" in page.url
    start = int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() * 1000)
    gaps = visit.json(f"/api/gaps?venue=binance&start={start}&range=1d")["rows"]
    assert len(gaps) > 2
    own = [gap for gap in gaps if gap["endpoint"] in (None, "perp_tickers")]
    lengths = sum((gap["end"] - gap["start"]) // MINUTE for gap in own)
    expect(strip).to_have_attribute("aria-label", f"perp_tickers: {lengths} minutes not whole")
    expect(strip.locator("rect")).to_have_count(1 + len(own))
    drawn = {name: float(strip.locator("rect").nth(1).get_attribute(name) or "nan") for name in ("x", "width")}
    assert drawn == {
        "x": (own[0]["start"] - start) / MINUTE, "width": (own[0]["end"] - own[0]["start"]) / MINUTE,
    }  # fmt: skip
    expect(page.get_by_role("region", name="Not recorded").locator("tbody tr")).to_have_count(len(gaps))
    page.get_by_role("textbox", name="Minutes of").fill("2020-01-01")
    expect(page.get_by_role("region", name="binance, 2020-01-01").get_by_text("not begun").first).to_be_visible()


@pytest.mark.requirement("pages:true")
def test_a_day_is_drawn_from_when_each_kind_began(visit: Visit) -> None:
    """The recording began at 10:00. Of tickers 90 minutes are counted so far, of books 30: they began an hour later.
    The newest minute is that before 12:00, half an hour after the count."""
    today = AS_OF_MS // (24 * HOUR) * 24 * HOUR

    def counted(data: Any) -> None:
        data["t"] = [today]
        minutes = {"perp_tickers": [90], "order_books": [30]}
        data["rows"] = [
            {
                **{name: [0] for name in data["rows"][0]},
                "venue": "binance",
                "endpoint": kind,
                "minutes": of,
                "recorded": of,
            }
            for kind, of in minutes.items()
        ]

    answer_with(visit, "**/api/coverage?*", counted)
    since, until = today + 10 * HOUR, today + 12 * HOUR
    answer_with(visit, "**/api/gaps?*", lambda data: data.update(recorded_since=since, end=until, rows=[]))
    day = datetime.fromtimestamp(today / 1000, UTC).strftime("%Y-%m-%d")
    page = visit.open(f"/coverage?venue=binance&day={day}", ".minutes rect")
    for kind, x, width in (("perp_tickers", "600", "120"), ("order_books", "660", "60")):
        strip = page.get_by_role("img", name=f"{kind}: whole").locator("rect")
        expect(strip).to_have_count(1)
        assert (strip.get_attribute("x"), strip.get_attribute("width")) == (x, width)


@pytest.mark.requirement("pages:true")
def test_a_metric_is_found_by_each_of_its_names(visit: Visit) -> None:
    page = visit.open("/catalog/open-interest", ".definition")
    oi = next(one for one in visit.json("/api/metrics")["metrics"] if one["metric"] == "oi")
    assert oi["caveats"]
    for said in (oi["description"], oi["formula"], *oi["caveats"]):
        expect(page.locator(".definition")).to_contain_text(" ".join(said.split()))
    visit.open("/catalog/nothing", HEAD)
    expect(page.locator(HEAD)).to_have_text("No metric is called nothing")
    assert [fault for fault in visit.faults if "404" not in fault] == []
    visit.faults.clear()  # The page itself is a 404, which the browser says.


@pytest.mark.requirement("pages:true")
def test_a_metric_of_a_coin_is_shown_by_exchange(visit: Visit) -> None:
    page = visit.open("/coins/BTC/oi?range=1d", ".charts canvas")
    venues = visit.json("/api/series/oi?base=BTC&range=1d&step=5m&by=venue")["venues"]
    expect(page.locator(".pane")).to_have_count(1 + len(venues))
    for venue, arrays in venues.items():
        newest = next(value for value in reversed(arrays["v"]) if value is not None)
        unit, name = next((unit, name) for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")) if newest >= unit)
        whole = len(str(int(newest / unit)))
        expect(page.locator(f".pane.{venue} .reads")).to_have_text(f"${newest / unit:.{4 - whole}f}{name}")


@pytest.mark.requirement("pages:true", "pages:usable")
def test_a_chart_of_a_page_is_a_table_too(visit: Visit) -> None:
    page = visit.open("/coins/BTC/price?range=1d&table=1", ".charts canvas")
    data = visit.json("/api/series/price?base=BTC&range=1d&step=5m")
    row = page.get_by_role("region", name="Values").locator("tbody tr").first
    expect(row).to_contain_text(f"{data['v'][-1]:,.0f}")


@pytest.mark.requirement("pages:true")
def test_a_refused_request_leaves_the_other_tables(visit: Visit) -> None:
    def spent(route: Route) -> None:
        route.fulfill(status=429, headers={"Retry-After": "37"}, json={"error": "spent"})

    visit.page.route("**/api/open-interest-acceleration*", spent)
    page = visit.open("/open-interest", f"{PANEL} tbody tr")
    expect(page.locator(".notice.bad")).to_contain_text("37 s")
    expect(page.get_by_role("region", name="By exchange")).to_be_visible()
    visit.expected = "429"


@pytest.mark.requirement("pages:true", "pages:evidence")
def test_a_click_on_a_point_shows_where_it_came_from(visit: Visit) -> None:
    page = visit.open("/coins/BTC/oi?range=1d", CHART)
    page.locator(".charts").focus()
    page.keyboard.press("End")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url("**/explain?*")
    by_keys = visit.json(page.url.removeprefix(visit.at).replace("/explain?", "/api/explain?"))
    assert (by_keys["metric"], by_keys["base"], by_keys["step"], by_keys["venue"]) == ("oi", "BTC", 5 * MINUTE, None)
    markets = page.get_by_role("region", name="Markets in it")
    expect(markets.locator("tbody tr")).to_have_count(by_keys["total"])
    expect(page.locator(".figures .sub")).to_have_text(f"the sum of {by_keys['total']} markets")
    markets.get_by_role("link").last.click()
    expect(page.get_by_role("region", name=f"Parts of {by_keys['markets'][-1]['market_id']}")).to_be_visible()
    page.go_back()
    page.go_back()
    plot = page.locator(".pane .plot .u-over").nth(1)
    plot.click(position={"x": 300, "y": 20})
    page.wait_for_url("**/explain?*")
    assert "venue=" in page.url


@pytest.mark.requirement("pages:true")
def test_a_market_has_its_series_and_its_contract(visit: Visit) -> None:
    page = visit.open("/coins/BTC", CHART)
    market = "binance:perp:BTCUSDT"
    page.get_by_role("region", name="Markets").get_by_role("link", name=market).click()
    expect(page.locator(".pane")).to_have_count(5)
    found = visit.json(f"/api/series/oi?market={market}&range=7d&step=1h")["v"][-1]
    expect(page.locator(".pane.oi .reads")).to_have_text(f"${found / 1e6:.2f}M")
    [one] = visit.json(f"/api/instruments?market={market}")["instruments"]
    contract = page.get_by_role("region", name="The contract")
    expect(contract.get_by_role("row", name="Contract size")).to_contain_text(f"{one['contract_size']:g}")
    visit.open("/markets/binance:spot:BTCUSDT", CHART)
    expect(page.locator(".pane")).to_have_count(2)


# The colours of a canvas, and a colour of the page's as the canvas has it.
PIXELS = """([canvas]) => {
  const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return [...new Set(new Uint32Array(image.data.buffer))];
}"""
RGB = """name => {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  return getComputedStyle(probe).color.match(/\\d+/g).map(Number);
}"""


@pytest.mark.requirement("pages:true", "series:candles")
def test_a_market_s_price_is_drawn_as_candles(visit: Visit) -> None:
    market = "binance:perp:BTCUSDT"
    page = visit.open(f"/markets/{market}?range=1d", CHART)
    page.get_by_role("button", name="candles").click()
    pane = page.locator(".pane.candles")
    pane.wait_for()
    found = visit.json(f"/api/series?m=candles,volume,oi,funding,liquidations&market={market}&range=1d&step=5m")
    candles = found["series"]["candles"]
    last = max(at for at, close in enumerate(candles["close"]) if close is not None)
    shown = [float(text.replace(",", "")) for text in re.findall(r"[\d.,]+", pane.locator(".reads").inner_text())]
    assert shown == pytest.approx([candles[name][last] for name in ("open", "high", "low", "close")], rel=1e-4)
    drawn = set(pane.locator("canvas").evaluate_all(PIXELS))
    rgb = [page.evaluate(RGB, name) for name in ("--up", "--down")]
    assert {255 << 24 | blue << 16 | green << 8 | red for red, green, blue in rgb} <= drawn


@pytest.mark.requirement("pages:usable")
def test_green_and_red_are_a_setting(visit: Visit) -> None:
    page = visit.open("/", PANEL)
    colour = "getComputedStyle(document.documentElement).getPropertyValue('--up')"
    before = page.evaluate(colour)
    page.get_by_role("button", name="Green and red").click()
    expect(page.get_by_role("button", name="Green and red")).to_have_attribute("aria-pressed", "true")
    after = page.evaluate(colour)
    assert after != before
    visit.open("/coins/BTC", CHART)
    assert page.evaluate(colour) == after
    page.get_by_role("button", name="Green and red").click()
    assert page.evaluate(colour) == before


@pytest.mark.requirement("pages:true", "depth:levels")
def test_a_book_is_drawn_on_both_sides_of_its_mid(visit: Visit) -> None:
    page = visit.open("/depth", f"{PANEL} tbody tr")
    page.get_by_role("region", name="binance").get_by_role("link", name="BTCUSDT").click()
    page.locator(CHART).first.wait_for()
    assert f"{visit.at}/api/order-book-depth/binance%3Aperp%3ABTCUSDT" in visit.asked
    page.locator(".charts").focus()
    none = "\N{EN DASH}"
    for away, bids, asks in (("0.01 %", none, "$400"), ("-0.01 %", "$300", none), ("-0.02 %", "$600", none)):
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".when")).to_have_text(away)
        expect(page.locator(".reads").first).to_have_text(f"bids{bids}asks{asks}")


@pytest.mark.requirement("pages:true", "pages:evidence")
def test_a_chart_has_what_was_known_then(visit: Visit) -> None:
    known = AS_OF_MS - AS_OF_MS % HOUR - 2 * HOUR
    answer_with(visit, "**/api/series/oi*as_known_at*", lambda then: then.update(v=[1e9] * len(then["v"])))
    page = visit.open(f"/coins/BTC/oi?range=7d&known={known}", CHART)
    expect(page.locator(".pane .reads").first).to_contain_text("as known$1.000B")
    [asked] = [url for url in visit.asked if "as_known_at" in url]
    assert f"as_known_at={known}" in asked
    with page.expect_request(lambda request: f"as_known_at={known - HOUR}" in request.url):
        earlier = datetime.fromtimestamp((known - HOUR) / 1000, UTC).strftime("%Y-%m-%dT%H:%M")
        page.get_by_label("As known at").fill(earlier)
    page.get_by_role("button", name="Now alone").click()
    expect(page.locator(".pane .reads").first).not_to_contain_text("as known")


@pytest.mark.requirement("pages:true", "pages:evidence")
@pytest.mark.parametrize(
    ("path", "request_path", "panes"),
    [
        ("/coins/BTC", "/api/series?m=price,oi,funding,liquidations&base=BTC", 4),
        ("/coins/ETH?venue=bybit", "/api/series?m=price,oi,funding,liquidations&base=ETH&venue=bybit", 4),
        ("/markets/binance:perp:BTCUSDT", "/api/series?m=price,volume,oi,funding,liquidations&market=binance", 5),
        ("/basis", "/api/series/basis?base=BTC", 1),
    ],
)
def test_every_page_with_series_has_what_was_known_then(visit: Visit, path: str, request_path: str, panes: int) -> None:
    known = AS_OF_MS - AS_OF_MS % HOUR - 2 * HOUR
    page = visit.open(f"{path}{'&' if '?' in path else '?'}known={known}", CHART)
    expect(page.locator(".pane .reads", has_text="as known")).to_have_count(panes)
    [asked] = [url.removeprefix(visit.at) for url in visit.asked if "as_known_at" in url]
    assert asked.startswith(request_path)
    assert asked.endswith(f"&end={known}&step=1h&as_known_at={known}")
    page.get_by_role("button", name="Now alone").click()
    expect(page.locator(".pane .reads", has_text="as known")).to_have_count(0)


@pytest.mark.requirement("pages:true", "pages:evidence")
def test_an_exchange_is_compared_with_its_own_history(visit: Visit) -> None:
    page = visit.open("/coins/BTC/volume?range=1d", CHART)
    rows = visit.json("/api/accuracy?metric=volume&window=30d")["rows"]
    assert rows
    compared = page.get_by_role("region", name="Against the exchanges' own history")
    expect(compared.locator("tbody tr")).to_have_count(len(rows))
    expect(compared).to_contain_text(rows[0]["worst_market"])
    medians = {row["venue"]: f"{row['median_difference'] * 100:.4f}%" for row in reversed(rows)}
    for venue, median in medians.items():
        row = page.get_by_role("region", name="By exchange").get_by_role("row", name=venue)
        expect(row).to_contain_text(median)


@pytest.mark.requirement("pages:true")
def test_a_column_without_any_value_is_left_out_and_named(visit: Visit) -> None:
    def forget(data: Any) -> None:
        for coin in data["coins"]:
            coin["oi_1h"] = None

    answer_with(visit, "**/api/markets", forget)
    page = visit.open("/open-interest", f"{PANEL} tbody tr")
    panel = page.locator(PANEL, has=page.get_by_role("region", name="By coin"))
    expect(panel.locator("thead")).not_to_contain_text("1 h")
    expect(panel).to_contain_text("Left out until they have a value")


# Every page in every state. One page is opened, the others are gone to within it, as a click on a link does.
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()
BROKEN = """axe.run(document, {runOnly: %s}).then(({violations}) => JSON.stringify(violations.map(({id, nodes}) =>
  [id, nodes[0].html.slice(0, 200), nodes[0].failureSummary])))"""
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ADDRESSES = [address(path) for path in VIEWS]
# No words for people.
LEAK = re.compile(r"\b(NaN|undefined|Infinity|object Object)\b")
# What an installation of a minute has; everything else has no row yet.
YOUNG = re.compile(
    "series_|base_keys|catalog|copied_views|edition|exchanges|expected_markets|gaps|live_markets|liquidations|long_short|market_|markets|"
    "methodology_|recording_status|table_states|tiers"
)


def violations(page: Page, rules: list[str]) -> list[Any]:
    """What axe finds against WCAG 2.2 A and AA. By the debugger, because the page runs no script of another origin."""
    debugger = page.context.new_cdp_session(page)
    debugger.send("Runtime.evaluate", {"expression": AXE})
    asked = {"expression": BROKEN % json.dumps(rules), "awaitPromise": True, "returnByValue": True}
    found: list[Any] = json.loads(debugger.send("Runtime.evaluate", asked)["result"]["value"])
    debugger.detach()
    return found


def each_page(visit: Visit) -> Iterator[str]:
    """Go to each page, and wait until it waits for nothing."""
    visit.open("/catalog", HEAD)
    for path in ADDRESSES:
        visit.page.evaluate(
            "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path
        )
        visit.page.wait_for_load_state("networkidle")
        expect(visit.page.locator("main .hold")).to_have_count(0)
        yield path


@pytest.mark.requirement("pages:states", "pages:usable")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(visit: Visit, scheme: Literal["light", "dark"]) -> None:
    visit.page.emulate_media(color_scheme=scheme)
    found = {path: violations(visit.page, WCAG) for path in each_page(visit)}
    assert {path: faults for path, faults in found.items() if faults} == {}
    visit.expected = "503"


@pytest.mark.requirement("pages:states")
def test_axe_finds_what_is_wrong(visit: Visit) -> None:
    page = visit.open("/catalog", ".metric")
    page.evaluate("document.querySelector('main h1').style.color = '#ddd'")
    assert "color-contrast" in [rule for rule, *_ in violations(page, WCAG)]


LACKS = {"nothing yet": re.compile("not yet|othing"), "budget spent": re.compile("asked again")}


@pytest.mark.requirement("pages:states")
@pytest.mark.parametrize("state", [*LACKS, "young"])
def test_every_page_says_what_it_lacks(browser: Browser, tmp_path: Path, state: str) -> None:
    serving = tmp_path / "serving"
    serving.mkdir()
    if state != "nothing yet":
        with duckdb.connect(str(publish(serving, 1, max_days=0))) as con:
            names = con.execute("select table_name from duckdb_tables()").fetchall()
            for (name,) in names if state == "young" else ():
                if not YOUNG.match(name):
                    con.execute(f"delete from {name}")
    headers = {"X-Forwarded-For": some_address()}
    with running(serving, free_port()) as api, browser.new_context(extra_http_headers=headers) as context:
        visit = Visit(context, api)
        if state == "budget spent":
            refusal = {"status": 429, "headers": {"retry-after": "40"}, "json": {"error": "more than 120 requests"}}
            visit.page.route("**/api/**", lambda route: route.fulfill(**refusal))
        for path in each_page(visit):
            if state in LACKS:
                expect(visit.page.locator("main"), path).to_contain_text(LACKS[state])
            said = visit.page.locator("main").inner_text()
            assert LEAK.search(said) is None, (path, said)
            assert violations(visit.page, WCAG) == [], path
        assert [fault for fault in visit.faults if not re.search("503|429|404", fault)] == []
