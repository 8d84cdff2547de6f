"""The API's page: Swagger UI, vendored as published, offline, under a strict Content-Security-Policy."""

import hashlib
import json
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from serve.app import DOCS, PAGES
from tests.support.servers.api_server import Api

VENDOR = PAGES / "vendor" / "swagger-ui"
ROOT = PAGES.parents[1]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_page() as page:
        yield page


@pytest.mark.requirement("docs:page")
def test_the_vendored_files_are_those_of_the_manifest() -> None:
    manifest = json.loads((VENDOR / "manifest.json").read_text())
    files = {path.name: path.read_bytes() for path in VENDOR.iterdir() if path.name != "manifest.json"}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in files.items()} == manifest["sha256"]
    assert (manifest["package"], manifest["license"]) == ("swagger-ui-dist", "Apache-2.0")
    assert b"Apache License" in files["LICENSE"]
    assert f'"{manifest["version"]}"'.encode() in files["swagger-ui-bundle.js"]


@pytest.mark.requirement("docs:page")
def test_an_installation_has_every_file() -> None:
    globs = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["serve"]
    installed = {path for pattern in globs for path in (ROOT / "serve").glob(pattern) if path.is_file()}
    assert installed >= {path for path in PAGES.rglob("*") if path.is_file()} >= set(DOCS.values())


@pytest.mark.requirement("docs:page")
@pytest.mark.parametrize("path", DOCS)
def test_every_file_is_served_under_a_strict_policy(api: Api, path: str) -> None:
    answer = api.get(path)
    assert (answer.status, answer.body) == (200, DOCS[path].read_bytes())
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert api.get(path, If_None_Match=answer.headers["etag"]).status == 304


@pytest.mark.requirement("docs:page")
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_sends_a_request_and_asks_no_other_host(api: Api, page: Page, width: int) -> None:
    origin, asked, complaints = f"http://127.0.0.1:{api.port}/", [], []
    page.set_viewport_size({"width": width, "height": 900})
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{origin}docs#/History/series")
    operation = page.locator("#operations-History-series")
    operation.locator("tr[data-param-name=metric] select").select_option("oi")
    operation.locator("tr[data-param-name=base] input").fill("BTC")
    operation.locator(".execute").click()
    sent = operation.locator(".live-responses-table tr.response")
    sent.wait_for()
    assert sent.locator(".response-col_status").inner_text() == "200"
    assert '"metric": "oi"' in sent.locator(".highlight-code").first.inner_text()
    assert f"{origin}api/series/oi?base=BTC" in "\n".join(asked)
    assert [url for url in asked if not url.startswith((origin, "data:"))] == []
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.requirement("docs:page")
def test_the_page_lists_every_operation(api: Api, page: Page) -> None:
    page.goto(f"http://127.0.0.1:{api.port}/docs")
    page.locator(".opblock").first.wait_for()
    listed = set(page.locator(".opblock-summary-path").evaluate_all("all => all.map(one => one.dataset.path)"))
    assert listed == set(api.get("/openapi.json").json["paths"])


@pytest.mark.requirement("docs:page")
def test_a_policy_without_own_scripts_stops_the_page(browser: Browser, api: Api, tmp_path: Path) -> None:
    """The browser enforces what the header says: without 'self' nothing runs."""
    with browser.new_page() as page:

        def stricter(route: Route) -> None:
            response = route.fetch()
            headers = {**response.headers, "content-security-policy": "default-src 'none'"}
            route.fulfill(response=response, headers=headers)

        page.route("**/docs", stricter)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(f"http://127.0.0.1:{api.port}/docs")
        assert any("Content Security Policy" in text for text in complaints)
