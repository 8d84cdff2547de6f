"""The API's reference at /docs: Swagger UI, offline, under a strict Content-Security-Policy."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.support.servers.api_server import Api


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_page() as page:
        yield page


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
    page.emulate_media(color_scheme="dark")
    page.goto(f"http://127.0.0.1:{api.port}/docs")
    page.locator(".dark-mode .opblock").first.wait_for()
    listed = set(page.locator(".opblock-summary-path").evaluate_all("all => all.map(one => one.dataset.path)"))
    assert listed == set(api.get("/openapi.json").json["paths"])


@pytest.mark.requirement("docs:page")
def test_a_policy_without_own_scripts_stops_the_page(browser: Browser, api: Api) -> None:
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
