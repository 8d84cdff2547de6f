"""Listings out of lists of markets that exchanges really sent, from the recorder to the response, against plain Python.

The lists of Binance (July 2021), OKX (May 2022), Gate (May 2023) and MEXC (July 2025) are replayed at their own times.
Bybit's recorded ones are of a retired API without listing times.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from ingest.declaration.venue import Venue
from ingest.venues.binance import BINANCE
from ingest.venues.gate import GATE
from ingest.venues.mexc import MEXC
from ingest.venues.okx import OKX
from tests.support.pipeline.product_minutes import Moment, Product
from tests.support.pipeline.recorder_minutes import MINUTE, only
from tests.support.recordings.captures import logged
from tests.support.recordings.recorded import read
from tests.support.replica.replica_snapshots import DAY

BINANCE_MS = 1_626_858_243_909  # the body's own serverTime
LATER_MS = 1_753_142_400_000  # 2025-07-22 00:00 UTC: MEXC's newest contract opens twelve hours later
FUTURES = "https://api.gateio.ws/api/v4/futures/usdt/contracts"
SWAPS = "https://www.okx.com/api/v5/public/instruments?instType=SWAP"


def bodies(recordings: Path) -> dict[str, Any]:
    """The recorded lists."""
    return {
        "binance": logged(
            recordings / "binance/cryptofeed/BINANCE_FUTURES.0.txt.gz", "https://fapi.binance.com/fapi/v1/exchangeInfo"
        ),
        "okx": logged(recordings / "okx/cryptofeed/OKX.0.txt.gz", SWAPS),
        "gate": logged(recordings / "gate/cryptofeed/GATEIO_FUTURES.0.txt.gz", FUTURES),
        "mexc": read(recordings / "mexc/api_v1_contract_detail_all.2025.json.gz"),
    }


def replay(folder: Path, reported: dict[str, Any]) -> Path:
    """A folder from which the simulators answer with the lists."""
    entries = [
        {"venue": "binance", "path": "/fapi/v1/exchangeInfo", "text": json.dumps(reported["binance"])},
        {"venue": "okx", "path": "/api/v5/public/instruments", "params": {"instType": "SWAP"},
         "text": json.dumps(reported["okx"])},
        {"venue": "gate", "path": "/api/v4/futures/usdt/contracts", "text": json.dumps(reported["gate"])},
        {"venue": "gate", "path": "/api/v4/futures/btc/contracts", "text": "[]"},
        {"venue": "mexc", "path": "/api/v1/contract/detail", "text": json.dumps(reported["mexc"])},
    ]  # fmt: skip
    (folder / "replay.json").write_text(json.dumps(entries))
    return folder


def lists(*venues: Venue) -> tuple[Venue, ...]:
    return tuple(only(venue, {"instruments"}) for venue in venues)


class Found(NamedTuple):
    """What the product made of the lists: Binance's response by its window in days, then the table of all listings."""

    responses: dict[int, Any]
    rows: list[tuple[str, str, str, int]]


@pytest.fixture(scope="module")
def reported(recordings: Path) -> dict[str, Any]:
    return bodies(recordings)


@pytest.fixture(scope="module")
def found(reported: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Binance's list recorded and served in its own minute, then the others in theirs."""
    product = Product(tmp_path_factory.mktemp("listings"))
    source = {"mode": "replay", "replay_dir": replay(tmp_path_factory.mktemp("replay"), reported)}
    product.record(lists(BINANCE), [Moment(BINANCE_MS // MINUTE * MINUTE)], **source)
    with product.served() as api:
        responses = {days: api.get(f"/api/new-listings?window={days}d").json for days in (30, 90)}
    product.record(lists(OKX, GATE, MEXC), [Moment(LATER_MS)], **source)
    with duckdb.connect(product.settings.warehouse, read_only=True) as con:
        rows = con.execute("select venue, symbol, base, listed_ms from listings").fetchall()
    return Found(responses, rows)


@pytest.mark.requirement("listings:real")
@pytest.mark.parametrize("days", [30, 90])
def test_listings_of_a_real_list_are_those_that_plain_python_reads(
    found: Found, reported: dict[str, Any], days: int
) -> None:
    """USDT perps of the window, newest first; no contract in BUSD, no dated one, none that has not opened."""
    content = found.responses[days]
    as_of = content["as_of"]
    assert as_of // MINUTE == BINANCE_MS // MINUTE
    expected = [
        (one["onboardDate"], one["symbol"], one["baseAsset"].removeprefix("1000"))
        for one in reported["binance"]["symbols"]
        if one["quoteAsset"] == "USDT" and one["contractType"] == "PERPETUAL"
        and as_of - days * DAY <= one["onboardDate"] <= as_of
    ]  # fmt: skip
    expected.sort(key=lambda one: (-one[0], one[1]))
    assert [(row["listed_ms"], row["symbol"], row["base"]) for row in content["listings"]] == expected
    assert expected[0][1] == "TLMUSDT"
    assert ("SHIB" in {base for _, _, base in expected}) == (days == 90)
    assert [row["age_days"] for row in content["listings"]] == [
        pytest.approx((as_of - at) / DAY, abs=0.005) for at, _, _ in expected
    ]
    # Nothing but the list was recorded: what these markets do is unknown.
    assert all(row["price"] is None and row["change"] is None and not row["live"] for row in content["listings"])
    assert (content["counts"], content["missing"]) == ({"binance": len(expected)}, ["bybit"])


@pytest.mark.requirement("listings:real")
def test_every_listing_time_of_the_lists_is_in_the_table(found: Found, reported: dict[str, Any]) -> None:
    """Of the USDT perps of every exchange; of Gate's in 2023 the new ones alone say when."""
    binance = [
        one for one in reported["binance"]["symbols"] if one["quoteAsset"] == "USDT" and "_" not in one["symbol"]
    ]
    expected = {("binance", one["symbol"], one["onboardDate"]) for one in binance}
    expected |= {
        ("okx", one["instId"], int(one["listTime"])) for one in reported["okx"]["data"] if "-USDT-SWAP" in one["instId"]
    }
    expected |= {
        ("mexc", one["symbol"], one["openingTime"] or one["createTime"])
        for one in reported["mexc"]["data"]
        if one["quoteCoin"] == "USDT"
    }
    dated = [one for one in reported["gate"] if one.get("launch_time") or one.get("create_time")]
    expected |= {("gate", one["name"], (one.get("launch_time") or one["create_time"]) * 1000) for one in dated}
    assert 0 < len(dated) < len(reported["gate"]) / 5
    assert {(venue, symbol, listed_ms) for venue, symbol, _, listed_ms in found.rows} == expected
    assert len(found.rows) == len(expected) > 900
    assert max(listed_ms for _, _, _, listed_ms in found.rows) > LATER_MS
