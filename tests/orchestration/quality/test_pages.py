"""The parts of Great Expectations that `quality.pages` relies on: an upgrade that changes them fails here first."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def loaded_pages() -> None:
    """Great Expectations is imported by the tests that need it, because that takes seconds."""
    from orchestration.quality import pages  # noqa: F401


@pytest.mark.usefixtures("loaded_pages")
def test_a_failed_expectation_is_rendered_by_our_renderers() -> None:
    from great_expectations.expectations.registry import get_renderer_impl
    from great_expectations.render.components import LegacyDiagnosticRendererType, LegacyRendererType

    table = LegacyDiagnosticRendererType.UNEXPECTED_TABLE
    for name in ("expect_in_range", "expect_not_before", "expect_no_suspects"):
        found = get_renderer_impl(name, table)
        assert found is not None, name
        assert found[1].__func__.__module__ == "orchestration.quality.pages"
    found = get_renderer_impl("expect_no_suspects", LegacyRendererType.PRESCRIPTIVE)
    assert found is not None


@pytest.mark.usefixtures("loaded_pages")
def test_a_page_uses_our_templates_first() -> None:
    from orchestration.quality.pages import TEMPLATES, IndexPage, Page

    for view in (Page, IndexPage):
        template = view().env.get_template("page.j2")
        assert Path(template.filename) == TEMPLATES / "page.j2"


@pytest.mark.usefixtures("loaded_pages")
def test_rows_of_a_query_are_counted_and_kept() -> None:
    from orchestration.quality.pages import ExpectNoSuspects

    expectation = ExpectNoSuspects(unexpected_rows_query="select 1 from {batch}", description="nothing")
    metrics = {"unexpected_rows_query.row_count": 21, "unexpected_rows_query.table": [{"n": n} for n in range(21)]}
    assert set(expectation.get_validation_dependencies().get_metric_names()) == set(metrics)
    outcome = expectation._validate(metrics)
    assert (outcome["success"], outcome["result"]["observed_value"]) == (False, 21)
    assert len(outcome["result"]["details"]["unexpected_rows"]) == 20
