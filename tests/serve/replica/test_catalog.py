"""The metric definitions of an edition: names and aliases, and rows that cannot be served."""

import json
import logging

import pytest

from serve.replica.catalog import Metric, read_catalog
from tests.support.replica.replica import CATALOG


@pytest.mark.requirement("series:alias")
def test_every_name_and_alias_leads_to_its_metric() -> None:
    catalog = read_catalog([(name, json.dumps(one)) for name, one in CATALOG.items()])
    assert [metric.name for metric in catalog.metrics] == list(CATALOG)
    for name, definition in CATALOG.items():
        metric = catalog.by_name[name]
        assert all(catalog.by_name[alias] is metric for alias in definition["aliases"])
        assert list(metric.fields) == list(definition["fields"])
    assert catalog.names == tuple(sorted(catalog.by_name))
    assert len(catalog.kinds) == len(set(catalog.kinds))


@pytest.mark.requirement("series:metric:undefined")
@pytest.mark.parametrize(
    "definition",
    [
        "{", "[]", "{}", '{"fields": {}}', '{"fields": {"v": {"column": "price; drop table gaps"}}}',
        '{"fields": {"v\'": "price"}}', '{"fields": {"v": {"column": "price", "sql": "1"}}}',
        '{"fields": {"v": "price"}, "reads": {"base": "a b"}}',
    ],
)  # fmt: skip
def test_a_definition_that_cannot_be_served_leaves_out_its_own_metric(
    definition: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tidemark.serve"):
        catalog = read_catalog([("bad", definition), ("good", '{"fields": {"v": "price"}}')])
    assert [metric.name for metric in catalog.metrics] == ["good"]
    assert "metric bad is not served" in caplog.text


@pytest.mark.requirement("series:values")
def test_the_table_of_a_selector_is_the_one_that_the_metric_reads() -> None:
    [metric] = read_catalog([("ratio", '{"fields": {"v": "v"}, "reads": {"base": "series_ratios"}}')]).metrics
    assert isinstance(metric, Metric)
    assert (metric.table("base", "1h"), metric.table("market", "5m")) == ("series_ratios_1h", "series_market_5m")
