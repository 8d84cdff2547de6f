"""The generated dbt docs as a reader sees them in Chromium: metrics, their definitions, and their lineage."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.docs import make_docs
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.replica.replica import CATALOG
from tests.support.replica.replica_server import replica_server
from tests.support.servers.chromium import chromium

# The nodes that the page has drawn.
DRAWN = "angular.element(document.body).injector().get('graph').graph.elements.map(element => element.data.id)"


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The docs of an empty warehouse, made as the product makes them."""
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path_factory.mktemp("home"))})
    give_dbt(settings)
    return make_docs(settings)


@pytest.fixture(scope="module")
def page(docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of a browser that stands at the docs, as the API serves them."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell")
    options = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with replica_server(tmp_path_factory.mktemp("api"), docs) as api, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        page = browser.new_page(viewport={"width": 1400, "height": 1000}, base_url=f"http://127.0.0.1:{api.port}")
        page.goto("/dbt/")
        yield page
        browser.close()


def test_a_metric_s_long_fields_are_in_its_description(docs: Path) -> None:
    metrics = json.loads((docs / "manifest.json").read_text())["metrics"].values()
    served = {node["meta"]["api_name"]: node for node in metrics if "api_name" in node["meta"]}
    assert set(served) == set(CATALOG)
    for name, node in served.items():
        assert all(isinstance(value, str) for value in node["meta"].values()), name
        for heading in ("Formula", "Caveats", "Fields", "Settings", "Source", "Changes"):
            assert f"#### {heading}\n\n" in node["description"], name
        assert f"(/catalog/{name})" in node["description"]
        assert (f"(/coins/BTC/{name})" in node["description"]) == ("base" in CATALOG[name]["selectors"])


def test_the_sidebar_has_every_metric_under_its_whole_label(page: Page) -> None:
    page.goto("/dbt/#!/metric/metric.tidemark.oi")
    page.locator("h1", has_text="Open interest").wait_for()
    assert "Metrics" in page.locator(".app-menu").inner_text().splitlines()
    # A label is in two parts, so that a long one loses its middle and not its end; a space between them is not shown.
    entries = page.locator(".app-menu .menu-node").all_inner_texts()
    shown = {re.sub(r"\s*\n\s*", "", entry).strip() for entry in entries}
    assert {str(definition["title"]) for definition in CATALOG.values()} <= shown


@pytest.mark.parametrize("name", CATALOG)
def test_a_metric_s_page_shows_its_unit_and_formula_uncut(page: Page, name: str) -> None:
    page.goto(f"/dbt/#!/metric/metric.tidemark.{name.replace('-', '_')}")
    page.locator("h1", has_text=CATALOG[name]["title"]).wait_for()
    details, description = page.locator(".details"), page.locator(".model-markdown")
    assert CATALOG[name]["unit"] in details.inner_text()
    shown = " ".join(description.inner_text().replace("`", "").split())
    for text in (CATALOG[name]["formula"], *CATALOG[name]["caveats"]):
        assert " ".join(text.replace("`", "").split()) in shown
    cut_off = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => box.innerText)"
    assert page.locator(".panel, .detail-body, .model-markdown, .model-markdown pre").evaluate_all(cut_off) == []


def test_lineage_runs_from_the_landing_to_the_tool(page: Page) -> None:
    page.goto("/dbt/#!/exposure/exposure.tidemark.mcp_oi_history?g_v=1&g_i=%2Bexposure:mcp_oi_history")
    # The graph is opened by an address that is loaded, not by one that is gone to within the page.
    page.reload()
    way = [
        "source.tidemark.landing.responses", "model.tidemark.stg_binance__open_interest",
        "model.tidemark.series_base_1m", "semantic_model.tidemark.coin_minutes", "metric.tidemark.oi",
        "exposure.tidemark.mcp_oi_history",
    ]  # fmt: skip
    page.wait_for_function(f"way => way.every(id => {DRAWN}.includes(id))", arg=way)


@pytest.mark.requirement("pages:header")
def test_the_docs_are_below_the_header_of_the_pages(page: Page) -> None:
    page.goto("/dbt/#!/metric/metric.tidemark.oi")
    page.locator("h1", has_text="Open interest").wait_for()
    current = page.locator("header.top nav a[aria-current]")
    assert (current.count(), current.inner_text()) == (1, "Tables")
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        header = page.locator("header.top").bounding_box()
        app = page.locator(".app").first.bounding_box()
        assert header
        assert app
        assert (header["x"], header["y"], header["width"]) == (0, 0, width)
        assert abs(app["y"] - header["height"]) <= 1, "neither covers the other"
        assert abs(app["y"] + app["height"] - height) <= 1
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.locator("header.top nav a", has_text="Metrics").click()
    page.wait_for_url("**/catalog")
