"""GET /api/instruments on a small replica: histories, filters, pages, formats."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/instruments"
BITCOIN, CORE, LEVERAGED, WON = (
    "binance:perp:BTCUSDT", "gate:perp:CORE_USDT", "gate:spot:BTC3L_USDT", "upbit:spot:KRW-BTC",
)  # fmt: skip


def found(api: Api, query: str) -> list[str]:
    return [row["market_id"] for row in api.get(f"{PATH}?{query}").json["instruments"]]


@pytest.mark.requirement("instruments:shape")
def test_a_market_has_its_history_and_its_place_in_aggregates(api: Api) -> None:
    got = as_described(api, PATH)
    assert (got["total"], got["next"], got["server_ts"]) == (4, None, AS_OF_MS)
    rows = {row["market_id"]: row for row in got["instruments"]}
    assert list(rows) == [BITCOIN, CORE, LEVERAGED, WON]
    core = rows[CORE]
    assert (core["base"], core["named_base"], core["aggregated"], core["left_out"]) == ("CORE@gate", "CORE", True, None)
    assert core["identity"] == [
        {"from_ms": 0, "to_ms": 60000, "base": "CORE", "reason": "name", "price_ratio": None},
        {"from_ms": 60000, "to_ms": None, "base": "CORE@gate", "reason": "parted", "price_ratio": 5.5},
    ]
    assert [(one["since_ms"], one["contract_size"]) for one in core["contracts"]] == [(0, 0.01), (60000, 0.001)]
    assert rows[BITCOIN]["funding_intervals"] == [
        {"since_ms": 0, "interval_h": 8.0}, {"since_ms": 60000, "interval_h": 4.0},
    ]  # fmt: skip
    assert rows[BITCOIN]["first_ms"] is not None
    assert [rows[one]["left_out"] for one in (LEVERAGED, WON)] == ["structured", "premiums"]


@pytest.mark.requirement("instruments:filters")
@pytest.mark.parametrize(
    ("query", "markets"),
    [
        ("venue=gate", [CORE, LEVERAGED]),
        ("type=spot", [LEVERAGED, WON]),
        ("base=core", [CORE]),
        ("base=btc", [BITCOIN, WON]),
        (f"market={CORE}", [CORE]),
        ("aggregated=true", [BITCOIN, CORE]),
        ("aggregated=false&venue=upbit", [WON]),
        ("left_out=structured", [LEVERAGED]),
        ("changed=identity", [CORE]),
        ("changed=contract", [CORE]),
        ("changed=funding_interval", [BITCOIN]),
    ],
)
def test_filters_select(api: Api, query: str, markets: list[str]) -> None:
    assert found(api, query) == markets


@pytest.mark.requirement("instruments:filters")
@pytest.mark.parametrize("query", ["venue=deribit", "changed=price", "market=BTCUSDT", "limit=7", "after=x"])
def test_other_values_are_refused(api: Api, query: str) -> None:
    assert query.split("=")[0] in api.get(f"{PATH}?{query}").error


@pytest.mark.requirement("instruments:pages")
def test_pages_follow_each_other(api: Api) -> None:
    first = api.get(f"{PATH}?limit=10&after={BITCOIN}").json
    assert ([row["market_id"] for row in first["instruments"]], first["total"]) == ([CORE, LEVERAGED, WON], 4)
    assert first["next"] is None


@pytest.mark.requirement("instruments:formats")
def test_tables_hold_what_json_holds(api: Api) -> None:
    rows = api.get(PATH).json["instruments"]
    comment, text = api.get(f"{PATH}?format=csv").body.decode().split("\n", 1)
    assert comment == "# next: "
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["market_id"] for line in lines] == [row["market_id"] for row in rows]
    assert [json.loads(line["identity"]) for line in lines] == [row["identity"] for row in rows]
    table = pq.read_table(io.BytesIO(api.get(f"{PATH}?format=parquet").body))
    stream = pa.ipc.open_stream(api.get(f"{PATH}?format=arrow").body).read_all()
    assert table.to_pylist() == stream.to_pylist() == rows
    assert json.loads(table.schema.metadata[b"tidemark"])["total"] == 4
