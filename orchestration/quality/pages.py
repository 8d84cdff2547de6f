"""The appearance of findings in the Data Docs: every failed expectation lists venue, market, time and value. Pages need
no network (Great Expectations' own templates load styles, scripts and pictures from other hosts).

This is the only module that uses undocumented parts of Great Expectations: its legacy renderers, the views of its pages
and `_validate`. The public API has no replacement: the views load styles and scripts from seven other hosts, and a
failed expectation lists values without venue and market. `tests/orchestration/quality/test_pages.py` fails first if an
upgrade changes them.
"""

from pathlib import Path
from typing import Any

import great_expectations.expectations as gxe
from great_expectations.core import ExpectationValidationResult
from great_expectations.render import RenderedStringTemplateContent, RenderedTableContent
from great_expectations.render.components import LegacyDiagnosticRendererType, LegacyRendererType
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.view import DefaultJinjaIndexPageView, DefaultJinjaPageView
from jinja2 import ChoiceLoader, FileSystemLoader

from orchestration.config.clock import SECONDS, as_utc

COLUMNS = ("venue", "market_id", "value", "expected")
TEMPLATES = Path(__file__).parent / "pages_j2"


class NamesRows:
    """An expectation whose page lists the rows that failed it, if the result names them."""

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: ExpectationValidationResult | None = None, **_: Any
    ) -> list[RenderedTableContent] | None:
        found: dict[str, Any] = (result.result if result else None) or {}
        rows = found.get("partial_unexpected_index_list") or found.get("details", {}).get("unexpected_rows") or []
        if not rows:
            return None
        # Results are stored as JSON with sorted keys.
        names = sorted(rows[0], key=lambda name: (COLUMNS.index(name) if name in COLUMNS else 2, name))
        return [
            RenderedTableContent(
                content_block_type="table",
                header_row=names,
                table=[[_cell(name, row[name]) for name in names] for row in rows],
                styling={"body": {"classes": ["rows"]}},
            )
        ]


def _cell(name: str, value: Any) -> RenderedStringTemplateContent:
    if (name == "t" or name.endswith("_ms")) and isinstance(value, int):
        value = f"{value} ({as_utc(value, SECONDS)})"
    return RenderedStringTemplateContent(
        content_block_type="string_template", string_template={"template": "$value", "params": {"value": str(value)}}
    )


class ExpectInRange(NamesRows, gxe.ExpectColumnValuesToBeBetween):
    """Great Expectations' range expectation, with a page that lists the failing rows."""


class ExpectNotBefore(NamesRows, gxe.ExpectColumnPairValuesAToBeGreaterThanB):
    """Great Expectations' comparison of two columns, with a page that lists the failing rows."""


class ExpectNoSuspects(NamesRows, gxe.UnexpectedRowsExpectation):
    """A query that must return no rows; its page says what the query looks for and lists the first rows found."""

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> Any:
        count = metrics["unexpected_rows_query.row_count"]
        rows = metrics["unexpected_rows_query.table"][:20]
        return {"success": count == 0, "result": {"observed_value": count, "details": {"unexpected_rows": rows}}}

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(cls, configuration: Any = None, result: Any = None, **_: Any) -> list[Any]:
        of = configuration or result.expectation_config
        sentence = {"template": "None: $says", "params": {"says": of.description}}
        query = {"template": "$sql", "params": {"sql": of.kwargs["unexpected_rows_query"]}, "tag": "pre"}
        return [
            RenderedStringTemplateContent(content_block_type="string_template", string_template=template)
            for template in (sentence, query)
        ]


class _Offline:
    """A template loader that looks in our templates first."""

    env: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.env.loader = ChoiceLoader([FileSystemLoader(TEMPLATES), self.env.loader])


class Page(_Offline, DefaultJinjaPageView):
    """The page of a suite or of a validation."""


class IndexPage(_Offline, DefaultJinjaIndexPageView):
    """The list of validations."""
