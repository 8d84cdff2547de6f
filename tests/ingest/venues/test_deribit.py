"""Deribit's options: staging of real bodies, checked by two independent computations; the simulator; a recorded
minute."""

import csv
import gzip
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.venues.deribit import DERIBIT
from sandbox.derived.chain import chain
from sandbox.market.listing import ANCHOR_MS
from sandbox.venues.deribit import HELD
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import logged, raw
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.sandbox_client import sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
NOW = ANCHOR_MS + 7 * 3_600_000 + 37_500
PUBLIC = "https://www.deribit.com/api/v2/public"
HOST = "/www.deribit.com/api/v2/public"
NAME = re.compile(r"(BTC|ETH)(?:_USDC)?-(\d+[A-Z]{3}\d\d)-([\dd]+)-([CP])")
COLUMNS = """instrument, coin, expiry_ms, strike, option_type, mark_iv, bid_iv, ask_iv, forward, mark_price_coins,
             open_interest_coins, volume_coins, volume_usd"""


@pytest.fixture(scope="module")
def deribit(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("deribit"))


def summaries(folder: Path) -> dict[str, list[Any]]:
    """Recorded summaries: all of BTC in 2024, some of BTC and ETH in 2022."""
    some = [raw(folder, "open_interest", "inverse_future_all"), raw(folder, "open_interest", "option")]
    return {"BTC": [read(folder / "deribit_book.option_api.jhabermas2024.json.gz"), some[0]], "ETH": [some[1]]}


def expiry(text: str) -> int:
    return int(datetime.strptime(text + " 08 +0000", "%d%b%y %H %z").timestamp() * 1000)


def reported(row: dict[str, Any]) -> tuple[Any, ...]:
    """A summary by the documents: what the view must make of it."""
    found = NAME.fullmatch(row["instrument_name"])
    assert found is not None
    coin, day, strike, side = found.groups()
    linear = 1.0 if row["quote_currency"] != "USDC" else row["underlying_price"]
    ivs = [row[name] / 100 if row.get(name) else None for name in ("mark_iv", "bid_iv", "ask_iv")]
    return (
        row["instrument_name"], coin, expiry(day), float(strike.replace("d", ".")), {"C": "call", "P": "put"}[side],
        *ivs, row["underlying_price"], row["mark_price"] / linear, row["open_interest"], row["volume"],
        row.get("volume_usd"),
    )  # fmt: skip


def test_recorded_summaries_are_read_by_the_documents(recordings: Path, deribit: Warehouse) -> None:
    rows, expected = [], []
    for currency, bodies in summaries(recordings / "deribit").items():
        for n, body in enumerate(bodies):
            rows.append(response(AT_MS + n * MINUTE, "deribit", "option_tickers", body, key=currency))
            options = [row for row in body["result"] if NAME.fullmatch(row["instrument_name"])]
            expected += [(AT_MS + n * MINUTE, *reported(row)) for row in options]
    deribit.build(rows, "raw_window")
    found = deribit.rows(f"select tick_ms, {COLUMNS} from stg_deribit__option_tickers order by all")
    assert found == sorted(expected)
    assert len(found) > 980
    assert deribit.rows("select * from stg_deribit__option_tickers where reject is not null") == []


def test_a_recorded_chain_with_volatilities_is_read(recordings: Path, deribit: Warehouse) -> None:
    """Chains that were kept as tables, put back into the summary's form: their volatilities and synthetic forwards."""
    text = gzip.decompress((recordings / "deribit/option_chain_btc_2021-02-11.csv.gz").read_bytes()).decode()
    table = list(csv.DictReader(text.splitlines()))
    rows = [
        {
            "instrument_name": one["instrument_name"], "quote_currency": "BTC",
            "underlying_index": one["underlying_index"], "volume_usd": 0.0,
            **{name: float(one[name]) for name in ("underlying_price", "mark_price", "open_interest", "mark_iv",
                                                   "bid_iv", "ask_iv")},
            "volume": float(one["stats.volume"] or 0),
        }
        for one in table
    ]  # fmt: skip
    deribit.build([response(AT_MS, "deribit", "option_tickers", {"result": rows}, key="BTC")], "raw_window")
    found = deribit.rows(f"select {COLUMNS} from stg_deribit__option_tickers order by all")
    assert found == sorted(reported(row) for row in rows)
    assert any(str(one["underlying_index"]).startswith("SYN.") for one in rows)
    share = deribit.rows("select median(mark_iv), count(*) from stg_deribit__option_tickers")[0]
    assert 0.5 < share[0] < 2.0
    assert share[1] > 300


def test_recorded_instruments_are_read_by_the_documents(recordings: Path, deribit: Warehouse) -> None:
    folder, rows, expected = recordings / "deribit", [], []
    log = folder / "cryptofeed/DERIBIT.0.txt.gz"
    bodies = {
        key: logged(log, f"{PUBLIC}/get_instruments?currency={key}&expired=false") for key in ("BTC", "ETH", "SOL")
    }
    bodies["one"] = {"result": [next(
        one["json"]["result"] for one in read(folder / "samples.nautilus.json")
        if one["file"] == "http_get_instrument_option.json"
    )]}  # fmt: skip
    for key, body in bodies.items():
        rows.append(response(AT_MS, "deribit", "option_instruments", body, key=key))
        for one in body["result"]:
            if one["kind"] == "option" and one["base_currency"] in ("BTC", "ETH"):
                settled = one.get("settlement_currency", one["quote_currency"])
                expected.append((
                    key, one["instrument_name"], one["base_currency"], one["expiration_timestamp"], one["strike"],
                    one["option_type"], one["contract_size"], settled, one["creation_timestamp"], "trading", None,
                ))  # fmt: skip
    deribit.build(rows, "raw_window")
    query = """select key, instrument, coin, expiry_ms, strike, option_type, contract_size, settle, listed_ms, status,
               reject from stg_deribit__option_instruments where instrument is not null order by all"""
    assert deribit.rows(query) == sorted(expected)
    assert len(expected) > 800
    # The names say the same as the fields: what the tickers are read by.
    for key, name, coin, ends, strike, side, *_ in expected:
        if key == "one":  # an example whose times were made up
            continue
        found = NAME.fullmatch(name)
        assert found is not None
        assert (found[1], expiry(found[2]), float(found[3].replace("d", "."))) == (coin, ends, strike)
        assert side.startswith({"C": "call", "P": "put"}[found[4]])


async def test_simulated_bodies_have_the_recorded_structure(recordings: Path) -> None:
    folder = recordings / "deribit"
    async with sandbox(now_ms=NOW) as client:
        ours = (await client.get(f"{HOST}/get_book_summary_by_currency", currency="BTC", kind="option")).json
        assert differences(summaries(folder)["BTC"][0], ours, optional={"mark_iv"}) == []
        real = next(
            one["json"] for one in read(folder / "samples.nautilus.json")
            if one["file"] == "http_get_instrument_option.json"
        )  # fmt: skip
        ours = (await client.get(f"{HOST}/get_instruments", currency="ETH", kind="option", expired="false")).json
        assert differences(real | {"result": [real["result"]]}, ours, optional={"id"}) == []
        unknown = await client.get(f"{HOST}/get_book_summary_by_currency", currency="DOGE", kind="option")
        assert (unknown.status, unknown.json["error"]["code"]) == (400, -32602)
        assert DERIBIT.fault is not None
        assert DERIBIT.fault(unknown.text) is not None
        assert DERIBIT.fault((await client.get(f"{HOST}/get_index_price", index_name="btc_usd")).text) is None


def test_a_recorded_chain_is_the_worlds(first_minute: FirstMinute) -> None:
    deribit, world = first_minute.warehouse, first_minute.world
    tickers = "select {} from stg_deribit__option_tickers where key = '{}' order by expiry_ms, strike, option_type"
    for coin, held in HELD.items():
        true = chain(world, "deribit", coin, NOW_MS // MINUTE, held)
        columns = (true.expiry_ms, true.strike, true.call, true.mark_iv, true.forward, true.price, true.open_interest)
        expected = sorted(
            zip(*(column.tolist() for column in columns), strict=True), key=lambda row: (*row[:2], not row[2])
        )
        found = deribit.rows(tickers.format(COLUMNS, coin))
        assert len(found) == len(expected)
        for row, (ends, strike, call, iv, forward, price, open_interest) in zip(found, expected, strict=True):
            assert row[1:5] == (coin, ends, strike, "call" if call else "put")
            assert row[5] == pytest.approx(iv, abs=6e-5)
            assert row[8] == pytest.approx(forward, abs=1e-4)
            assert row[9] == pytest.approx(max(price, 0) / forward, abs=1e-8)
            assert row[10] == pytest.approx(open_interest, abs=0.06)
        index = deribit.rows(f"select index_price from stg_deribit__option_index where coin = '{coin}'")
        assert index == [(pytest.approx(true.index, abs=1e-4),)]
    linear = "select distinct coin, mark_price_coins < 5 from stg_deribit__option_tickers where key = 'USDC' order by 1"
    assert deribit.rows(linear) == [("BTC", True), ("ETH", True)]
    both = """select count(*) from stg_deribit__option_tickers as t
              anti join stg_deribit__option_instruments as i
              on t.instrument = i.instrument and t.expiry_ms = i.expiry_ms and t.strike = i.strike
                  and t.option_type = i.option_type and t.coin = i.coin"""
    assert deribit.rows(both) == [(0,)]
    assert (
        datetime.fromtimestamp(deribit.rows("select min(ts) from stg_deribit__option_index")[0][0] / 1000, UTC).year
        == 2026
    )
