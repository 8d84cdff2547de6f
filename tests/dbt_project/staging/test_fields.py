"""Fields enter staging through the macros of fields.sql alone, which bound them."""

import re
from pathlib import Path

import duckdb
import pytest

from tests.support.pipeline.dbt_project import PROJECT, evaluated

STAGING = [*sorted((PROJECT / "models" / "staging").rglob("*.sql")), *(PROJECT / "macros" / f"{name}.sql" for name in (
    "kline_arrays", "binance_statistics", "gate_statistics"))]  # fmt: skip
# The dictionary of fields, whose templates convert units within bounds, and comments.
BOUNDED = re.compile(r"\{%- set fields = \{.*?\n\} %\}|--[^\n]*|\{#.*?#\}", re.DOTALL)
BARE = {
    "a cast": re.compile(
        r"\b(try_)?cast\s*\(|(?<!null)(?<!\d)::(double|bigint|integer|hugeint|decimal)", re.IGNORECASE
    ),
    "a parsed time": re.compile(r"\b(epoch_ms|epoch_us|make_timestamp|try_strptime|strptime)\s*\(", re.IGNORECASE),
    "arithmetic with a unit": re.compile(r"[-+*/]\s*\d{3,}"),
    "a number read by from_json": re.compile(r'(?<!\\"received_ms\\":)\\"(BIGINT|DOUBLE|DECIMAL)'),
}


@pytest.mark.parametrize("file", STAGING, ids=lambda file: file.stem)
def test_no_field_is_read_past_the_macros(file: Path) -> None:
    rest = BOUNDED.sub("", file.read_text())
    found = {what: match[0] for what, pattern in BARE.items() if (match := pattern.search(rest))}
    assert found == {}, "use the macros of fields.sql, which bound what a venue sends"


@pytest.fixture(scope="module")
def domains() -> dict[str, dict[str, float]]:
    return dict(evaluated("domains()"))


def test_every_domain_has_bounds_and_a_reason(domains: dict[str, dict[str, float]]) -> None:
    for name, domain in domains.items():
        assert domain["least"] < domain["most"], name
        assert str(domain["reason"]).strip(), name


def test_products_of_the_bounds_are_finite(domains: dict[str, dict[str, float]]) -> None:
    """An amount is a product of at most these."""
    largest = domains["size"]["most"] * domains["contract_size"]["most"] * domains["price"]["most"]
    assert largest / domains["price"]["least"] < 1e300


READ = [
    # field, text, value, whether it is counted
    ("price('v')", "63990.1", 63990.1, 0),
    ("price('v')", "0", None, 1),
    ("price('v', zero='kept')", "0", 0.0, 0),
    ("price('v', zero='none')", "0.000", None, 0),
    ("price('v')", "-1", None, 1),
    ("price('v')", "NaN", None, 1),
    ("price('v')", "1e999", None, 1),
    ("price('v')", "", None, 0),
    ("price('v')", None, None, 0),
    ("price('v')", '{"a":1}', None, 1),
    ("size('v')", "0", 0.0, 0),
    ("number('v', 'size', zero='none')", "0E-8", None, 0),
    ("number('v', 'size', zero='none')", "0.00000001", 1e-8, 0),
    ("size('v')", "-0.5", None, 1),
    ("size('v')", "1e22", None, 1),
    ("rate('v', most=0.04)", "-0.04", -0.04, 0),
    ("rate('v', most=0.04)", "0.0401", None, 1),
    ("rate('v', '{} / 8')", "0.0008", 0.0001, 0),
    ("hours('v', '{} / 3600000')", "28800000", 8.0, 0),
    ("hours('v')", "25", None, 1),
    ("iv('v', '{} / 100')", "65.5", 0.655, 0),
    ("iv('v')", "-1.0", None, 0),
    ("fraction('v')", "1.01", None, 1),
    ("time_ms('v')", "1773132720000", 1773132720000, 0),
    ("time_ms('v')", "9223372036854775807", None, 1),
    ("time_ms('v')", "18446744073709551616", None, 1),
    ("time_ms('v')", "1773132720", None, 1),
    ("time_ms('v', 's')", "1773132720", 1773132720000, 0),
    ("time_ms('v', 's')", "9223372036854775807", None, 1),
    ("time_ms('v', 'us')", "1773132720000123", 1773132720000, 0),
    ("time_ms('v', 'ns')", "1773132720000123456", 1773132720000, 0),
    ("time_ms('v', past=true)", "1773132999999", 1773132999999, 0),
    ("time_ms('v', past=true)", "1773133000001", None, 1),
    ("time_ms('v', 's', past=true)", "1773133001", None, 1),
    ("time_ms('v')", "0", None, 0),
    ("time_of_text('v')", "2026-03-10T08:52:00Z", 1773132720000, 0),
    ("time_of_text('v')", "9999-12-31T00:00:00Z", None, 1),
    ("time_of_text('v', '%y%m%d', '{} + 28800000')", "260310", 1773129600000, 0),
    ("word('v')", "BTCUSDT", "BTCUSDT", 0),
    ("word('v')", "x" * 65, None, 1),
    ("word('v')", '{"a":1}', None, 1),
]


def test_values_are_read_bounded_and_counted() -> None:
    """By hand: each text, received at 1773132700000, with its value and whether it counts as implausible."""
    rows = [
        f"'select ' ~ measured({{'x': {field}}}, required=['r']) ~ ' from ' ~ read('given', {{'x': {field}}})"
        for field, *_ in READ
    ]
    queries = evaluated("[" + ", ".join(rows) + "]")
    with duckdb.connect() as db:
        for (field, text, value, counted), query in zip(READ, queries, strict=True):
            db.execute(
                "create or replace table given as select $1::varchar as v, 1 as r, 1773132700000 as received_ms", [text]
            )
            assert db.execute(query).fetchall() == [(value, None, counted)], (field, text)
