"""Consistency of the layers: a staging view has its kind's columns; a venue is named in its own files only."""

import ast
import csv
import io
import re
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dbt.contracts.graph.nodes import ModelNode

from ingest.venues import VENUES as DECLARED
from orchestration.config.settings import REPOSITORY
from sandbox.venues import SIMULATED_VENUES
from tests.support.pipeline.dbt_project import PROJECT, evaluated, manifest
from tests.support.pipeline.warehouse import Warehouse, seeded

COMMON = {
    "tick_ms": "bigint",
    "key": "varchar",
    "requested_ms": "bigint",
    "received_ms": "bigint",
    "endpoint": "varchar",
    "reject": "varchar",
    "outside": "integer",
}
# Columns of the kinds that no family of the intermediate layer reads (macro `families`); a venue may lack some.
OTHER: dict[str, dict[str, str]] = {
    "index_tickers": {"symbol": "varchar", "index_price": "double"},
    "option_instruments": {
        "instrument": "varchar",
        "coin": "varchar",
        "expiry_ms": "bigint",
        "strike": "double",
        "option_type": "varchar",
        "contract_size": "double",
        "settle": "varchar",
        "listed_ms": "bigint",
        "status": "varchar",
    },
    "perp_dexes": {"dex": "varchar", "full_name": "varchar"},
    "perp_annotations": {
        "symbol": "varchar",
        "category": "varchar[]",
        "display_name": "varchar",
        "keywords": "varchar[]",
    },
    "wallets": {
        "wallet": "varchar",
        "display_name": "varchar",
        "account_value_usd": "double",
        "volume_day_usd": "double",
        "volume_week_usd": "double",
        "volume_month_usd": "double",
        "pnl_month_usd": "double",
    },
    "wallet_positions": {
        "wallet": "varchar",
        "t": "bigint",
        "symbol": "varchar",
        "size": "double",
        "entry_price": "double",
        "liquidation_price": "double",
        "leverage": "double",
        "margin_mode": "varchar",
        "margin_used_usd": "double",
        "position_value_usd": "double",
        "account_value_usd": "double",
    },
    "liquidation_fills": {
        "symbol": "varchar",
        "ts": "bigint",
        "tid": "varchar",
        "wallet": "varchar",
        "role": "varchar",
        "side": "varchar",
        "size": "double",
        "price": "double",
        "mark_price": "double",
        "method": "varchar",
    },
}
# Columns of staging views that are for analysts only: no model reads them.
BESIDE = {
    "option_open_interest": {"open_contracts": "double"},
    "option_index": {"ts": "bigint"},
    # Takers' share without their sizes, which are what is served.
    "metrics_files": {"taker_ratio": "double"},
}
UNIT = re.compile(
    r"\bms\b|\bUSD\b|dollar|quote|price|fraction|contracts?\b|coins?\b|units?\b|hours?|percent|decimal|KRW|years?\b"
)
NUMBERS = ("double", "bigint", "double[][]")

# Files outside a venue's own that name one, each with its reason. Texts, examples and tests in yml files are not code.
NAMED = {
    "dbt_project/macros/staging.sql": "the list of staging models",
    "orchestration/supervise/product.py": "an example request for people",
    "serve/contract/parameters.py": "an example in the API's description",
    "serve/replica/catalog.py": "the interface's list of venues, in its order",
}
SHARED = (
    "ingest/*.py",
    "ingest/declaration/*.py",
    "ingest/landing/*.py",
    "ingest/recorder/*.py",
    "ingest/backfill/*.py",
    "sandbox/market/*.py",
    "sandbox/http/*.py",
    "sandbox/wire/*.py",
    "dbt_project/models/intermediate/**/*.sql",
    "dbt_project/models/marts/**/*.sql",
    "dbt_project/tests/**/*.sql",
    "dbt_project/macros/*.sql",
    "orchestration/**/*.py",
    # Not endpoints, tools and what they share: a route or a field that has a venue's name is written out.
    "serve/*.py",
    "serve/contract/*.py",
    "serve/http/*.py",
    "serve/replica/*.py",
)
# `fx` is a word of its own.
VENUES = sorted({simulated.venue for simulated in SIMULATED_VENUES} - {"fx"})


def kinds() -> dict[str, dict[str, str]]:
    """Columns that a staging view of each kind may have: what a family reads of it, and what nobody reads yet."""
    read = {kind: family["columns"] for family in evaluated("families()").values() for kind in family["kinds"]}
    return {kind: {**OTHER.get(kind, {}), **read.get(kind, {})} for kind in {**OTHER, **read}}


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Columns and types of every staging view, as DuckDB has them."""
    warehouse: Warehouse = seeded(tmp_path_factory.mktemp("layers"))
    found: dict[str, dict[str, str]] = {}
    query = (
        "select table_name, column_name, lower(data_type) from duckdb_columns() where starts_with(table_name, 'stg_')"
    )
    for table, column, kind in warehouse.rows(query):
        found.setdefault(table, {})[column] = kind
    return found


def described() -> dict[str, Any]:
    return {node.name: node for node in manifest().nodes.values() if node.name.startswith("stg_")}


def test_every_staging_model_is_listed_and_every_listed_one_exists(views: dict[str, dict[str, str]]) -> None:
    listed = {f"stg_{venue}__{entry.split('<')[0]}" for venue, own in evaluated("staged()") for entry in own}
    assert listed == set(views) == set(described())


def test_a_staging_view_has_the_columns_of_its_kind_and_no_other(views: dict[str, dict[str, str]]) -> None:
    allowed, wrong = kinds(), []
    for view, columns in sorted(views.items()):
        kind = view.partition("__")[2]
        if kind not in allowed:
            wrong.append(f"{view}: a kind that nobody declares")
            continue
        may = {**allowed[kind], **BESIDE.get(kind, {}), **COMMON}
        wrong += [f"{view}.{name}: not a column of the kind" for name in sorted(set(columns) - set(may))]
        wrong += [f"{view}.{name}: missing" for name in sorted(set(COMMON) - set(columns))]
        wrong += [
            f"{view}.{name}: {columns[name]}, not {may[name]}"
            for name in columns
            if name in may and columns[name] != may[name]
        ]
    assert not wrong, "\n".join(wrong)


def test_every_staging_model_and_column_is_described_with_its_unit(views: dict[str, dict[str, str]]) -> None:
    wrong = []
    for name, node in sorted(described().items()):
        if not node.description.strip():
            wrong.append(f"{name}: no description")
        documented = {column.name: column for column in node.columns.values()}
        if set(documented) != set(views[name]):
            wrong.append(f"{name}: documents other columns: {sorted(set(documented) ^ set(views[name]))}")
        for column in documented.values():
            kind = views[name].get(column.name)
            if column.data_type != kind:
                wrong.append(f"{name}.{column.name}: documented as {column.data_type}, is {kind}")
            if not column.description.strip():
                wrong.append(f"{name}.{column.name}: no description")
            elif kind in NUMBERS and not UNIT.search(column.description):
                wrong.append(f"{name}.{column.name}: a number without its unit: {column.description}")
    assert not wrong, "\n".join(wrong)


def test_no_sql_header_repeats_the_description_of_its_model() -> None:
    """A meaning is written once, in the yml; a header is for reasons that are not there."""
    repeated = []
    for node in manifest().nodes.values():
        if not isinstance(node, ModelNode) or node.language != "sql":
            continue
        header = re.match(r"\s*((?:--[^\n]*\n|\{#.*?#\}\s*)*)", node.raw_code, re.S)
        said = set(re.findall(r"\w{4,}", header[1].lower())) if header else set()
        described = set(re.findall(r"\w{4,}", node.description.lower()))
        if len(said & described) > len(said) / 2:
            repeated.append(node.original_file_path)
    assert not repeated, repeated


def words(path: Path) -> str:
    """The code of a file: without its comments, and in Python without its docstrings."""
    text = path.read_text()
    if path.suffix == ".sql":
        return re.sub(r"--[^\n]*", "", re.sub(r"\{#.*?#\}", "", text, flags=re.S))
    documents = {
        node.body[0].lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if ast.get_docstring(node) is not None
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return " ".join(
        token.string
        for token in tokens
        if token.type != tokenize.COMMENT and not (token.type == tokenize.STRING and token.start[0] in documents)
    )


def test_no_venue_is_named_outside_its_own_files() -> None:
    venue = re.compile(r"(?<![a-z])(" + "|".join(VENUES) + r")(?![a-z])")
    named: dict[str, set[str]] = {}
    for pattern in SHARED:
        for path in sorted(REPOSITORY.glob(pattern)):
            own = {name for name in VENUES if path.stem.startswith(f"{name}_")}
            if found := set(venue.findall(words(path))) - own:
                named[str(path.relative_to(REPOSITORY))] = found
    assert {file: found for file, found in named.items() if file not in NAMED} == {}
    assert set(NAMED) <= set(named), "a reason without a file that needs it"


# Columns of the README's table of venues: the kinds of which a venue must have one.
COVERED = {
    "perps": ("perp_tickers",),
    "spot": ("spot_tickers",),
    "minute bars": ("perp_bars", "spot_bars"),
    "long/short, taker": ("long_short_accounts", "taker_ratio"),
    "order books": ("order_books",),
    "index": ("index_components",),
    "settlements": ("settlements",),
    "options": ("option_tickers",),
    "wallets": ("wallet_positions", "liquidation_fills"),
    "USD/KRW": ("fx_rates",),
}


def test_the_guide_s_table_of_venues_is_what_is_staged() -> None:
    with (PROJECT / "seeds/venues.csv").open() as file:
        liquidations = {row["venue"]: row["liquidations"] for row in csv.DictReader(file)}
    lines = []
    for venue, entries in evaluated("staged()"):
        kinds = {entry.partition("<")[0] for entry in entries}
        cells = ["yes" if kinds & set(column) else "" for column in COVERED.values()]
        heard = liquidations.get(venue, "none")
        lines.append((f"`{venue}`", *cells[:3], heard if heard != "none" else "", *cells[3:]))
    text = (REPOSITORY / "docs/venues.md").read_text().partition("\n## What is recorded\n")[2].partition("\n## ")[0]
    table = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in text.splitlines() if line[:1] == "|"]
    names = list(COVERED)
    assert table[0] == ("venue", *names[:3], "liquidations", *names[3:])
    assert sorted(table[2:]) == sorted(lines)


# Endpoints that the exchange uses itself and documents nowhere.
UNDOCUMENTED = {"stg_fx__fx_rates", "stg_hyperliquid__wallets"}


def test_every_staging_view_names_its_endpoints_its_fields_and_their_document() -> None:
    views = {node.name: node for node in manifest().nodes.values() if node.name.startswith("stg_")}
    recorded = {
        (venue, entry.split("<")[0]): entry.split("<")[-1].split("+")
        for venue, own in evaluated("staged()")
        for entry in own
    }
    for name, view in views.items():
        meta, [venue, kind] = view.config.meta, name.removeprefix("stg_").split("__")
        assert meta["endpoints"] == recorded[venue, kind], name
        assert {column for column in meta["fields"] if column[0] != "_"} <= set(view.columns), name
        assert (meta["document"] is None) == (name in UNDOCUMENTED), name
        assert name in UNDOCUMENTED or meta["document"].startswith("https://"), name


def test_a_file_is_read_by_one_view() -> None:
    """Its lines are split once, whatever they have: files are the largest bodies."""
    views = Counter((venue, entry.partition("<")[2]) for venue, own in evaluated("staged()") for entry in own)
    archives = [(venue.name, archive.endpoint) for venue in DECLARED for archive in venue.archives]
    assert {name: views[name] for name in archives} == dict.fromkeys(archives, 1)
