"""The snapshots after real faults: simulators that are down, return less or change a contract.

Four moments of a day, which ends soon after an exchange listed a perp; then a quarter of an hour without responses.
Premiums have no exchange rate for the won, because its sources are not requested.
"""

import json
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import pytest

from ingest.venues.binance import BINANCE
from ingest.venues.bithumb import BITHUMB
from ingest.venues.bybit import BYBIT
from ingest.venues.gate import GATE
from ingest.venues.upbit import UPBIT
from tests.support.pipeline.product_minutes import Fault, Moment, Product
from tests.support.pipeline.recorder_minutes import MINUTE, only
from tests.support.replica.replica_snapshots import HOUR
from tests.support.servers.api_server import Api

LISTED = 1_765_458_000_000  # 2025-12-11 13:00 UTC: Binance lists WLDUSDT in the simulated market
NOW = LISTED + 90 * MINUTE
LATER = NOW + 15 * MINUTE
TIMES = (NOW - 24 * HOUR, NOW - 2 * HOUR, NOW - HOUR, NOW)
ASKED = (
    BINANCE,
    BYBIT,
    only(GATE, {"perp_tickers", "instruments"}),
    *(only(venue, {"spot_tickers", "spot_instruments", "spot_bars"}) for venue in (UPBIT, BITHUMB)),
)
ALWAYS: tuple[Fault, ...] = (
    {"kind": "truncated", "venue": "bybit", "path": "/v5/market/instruments-info"},
    {"kind": "outage", "venue": "bithumb"},
)
BYBIT_DOWN: Fault = {"kind": "outage", "venue": "bybit"}
CONTRACT: Fault = {"kind": "changed_field", "venue": "gate", "path": "/api/v4/futures/usdt/contracts",
                   "field": "quanto_multiplier", "times": 10, "where": {"name": "ETH_USDT"}}  # fmt: skip
NO_BOOKS: Fault = {"kind": "truncated", "venue": "bybit", "path": "/v5/market/orderbook"}
NO_LISTS: tuple[Fault, ...] = (
    {"kind": "truncated", "venue": "binance", "path": "/fapi/v1/exchangeInfo"},
    {"kind": "truncated", "venue": "binance", "path": "/dapi/v1/exchangeInfo"},
)
MOMENTS = (
    Moment(TIMES[0], ALWAYS),
    Moment(TIMES[1], ALWAYS, built=True),
    Moment(TIMES[2], (*ALWAYS, BYBIT_DOWN, CONTRACT)),
    Moment(TIMES[3], (*ALWAYS, CONTRACT, NO_BOOKS, *NO_LISTS)),
)


class Served(NamedTuple):
    """The API and the product behind it."""

    api: Api
    product: Product


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    recorded = Product(tmp_path_factory.mktemp("faults"))
    recorded.record(ASKED, MOMENTS)
    return recorded


@pytest.fixture(scope="module")
def served(product: Product) -> Iterator[Served]:
    with product.served() as api:
        yield Served(api, product)


@pytest.fixture(scope="module")
def later(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The same home a quarter of an hour later: every venue has been asked, and none has answered."""
    home = tmp_path_factory.mktemp("later")
    shutil.copytree(product.settings.home, home, symlinks=True, dirs_exist_ok=True)
    after = Product(home)
    after.record(ASKED, [Moment(LATER, ({"kind": "outage", "venue": "*"},))])
    with after.served() as api:
        yield api


def perps(api: Api) -> list[dict[str, Any]]:
    return [entry for coin in api.get("/api/markets").json["coins"] for entry in coin["perps"]]


@pytest.mark.requirement("oi-acceleration:unavailable", "oi-acceleration:values", "states:oi-acceleration:reasons")
def test_contracts_that_cannot_be_compared_have_their_reasons(served: Served) -> None:
    """A venue that was down an hour ago, a contract that is new, and one that became ten times as large."""
    got = served.api.get("/api/open-interest-acceleration?min_oi=0").json
    assert len(got["rows"]) + len(got["unavailable"]) == 50
    reasons = {(row["venue"], row["symbol"]): row["reason"] for row in got["unavailable"]}
    assert {venue for (venue, _), reason in reasons.items() if reason == "missing_anchor"} == {"bybit"}
    assert [market for market, reason in reasons.items() if reason == "listed_recently"] == [("binance", "WLDUSDT")]
    assert [market for market, reason in reasons.items() if reason == "contract_changed"] == [("gate", "ETH_USDT")]
    assert {row["venue"] for row in got["rows"]} == {"binance", "gate"}
    assert got["targets_ms"] == list(TIMES[1:])
    reported = {
        (row.tick_ms, row.key): float(body["openInterest"])
        for row, body in served.product.bodies("binance", "open_interest")
    }
    # Contracts of COIN-M are compared in coins, which also depend on the price.
    compared = [row for row in got["rows"] if row["venue"] == "binance" and not row["symbol"].endswith("_PERP")]
    assert len(compared) > 10
    for row in compared:
        before, middle, now = (reported[minute, row["symbol"]] for minute in TIMES[1:])
        assert row["acceleration_pp"] == pytest.approx(100 * (now / middle - middle / before), abs=1e-9)
        assert row["anchors_ms"] == got["targets_ms"]


@pytest.mark.requirement("markets:changes", "states:markets:null")
def test_a_change_from_an_hour_without_responses_is_null(served: Served) -> None:
    entries = perps(served.api)
    assert not [entry for entry in entries if entry["venue"] == "bybit" and entry["px_1h"] is not None]
    assert any(entry["px_24h"] is not None for entry in entries if entry["venue"] == "bybit")
    assert any(entry["px_1h"] is not None for entry in entries if entry["venue"] == "binance")
    # The perp that was listed since has no day behind it.
    [new] = [entry for entry in entries if (entry["venue"], entry["symbol"]) == ("binance", "WLDUSDT")]
    assert (new["px_24h"], new["px_4h"], new["oi_24h"]) == (None, None, None)
    assert new["px_1h"] is not None


@pytest.mark.requirement("long-short:values", "movers:values")
def test_simulated_ratios_reach_the_snapshot_and_the_movers(served: Served) -> None:
    coins = {coin["base"]: coin for coin in served.api.get("/api/long-short").json["coins"]}
    for name in ("binance_accounts", "binance_top_pos", "bybit_accounts"):
        ratio = coins["BTC"][name]
        assert 0 < ratio["long"] < 1
        assert NOW - 15 * MINUTE <= ratio["ts"] <= NOW
        # Every response holds eight hours of buckets, so the buckets of the outage arrive after it.
        assert ratio["chg_1h"] is not None
        assert ratio["chg_4h"] is not None
    shown: dict[str, Any] = served.api.get("/api/market-movers").json["sections"]["long_short"]
    assert shown["unavailable"] is None
    assert shown["up"][0]["value"] == max(
        coin["binance_accounts"]["chg_24h"] for coin in coins.values()
        if coin["binance_accounts"] and coin["binance_accounts"]["chg_24h"] is not None
    )  # fmt: skip


@pytest.mark.requirement("depth:missing", "states:depth:partial")
def test_books_that_no_round_brought_are_missing(served: Served) -> None:
    """The last books of one venue are two hours old: that is no depth of now."""
    content = served.api.get("/api/order-book-depth").json
    binance, bybit = content["venues"]
    assert (content["state"], content["n_books"], content["n_failed"]) == ("partial", 20, 20)
    assert (len(binance["markets"]), binance["missing"]) == (20, [])
    assert (bybit["n_universe"], bybit["markets"], len(bybit["missing"])) == (20, [], 20)
    assert bybit["missing"] == sorted(bybit["missing"])


@pytest.mark.requirement("listings:sources", "listings:pipeline", "states:listings:sources")
def test_a_list_that_failed_and_one_that_was_never_read(served: Served) -> None:
    content = served.api.get("/api/new-listings?window=30d").json
    assert (content["failed"], content["missing"]) == (["binance"], ["bybit"])
    assert set(content["counts"]) == {"binance"}
    newest = content["listings"][0]
    assert (newest["symbol"], newest["listed_ms"], newest["live"]) == ("WLDUSDT", LISTED, True)
    assert newest["age_days"] == 0.06
    bars = {bar[0]: bar for row, body in served.product.bodies("binance", "perp_bars") if row.key == "WLDUSDT"
            for bar in body}  # fmt: skip
    assert newest["first_open"] == float(bars[LISTED][1])
    assert newest["change"] == pytest.approx(newest["price"] / newest["first_open"] - 1)


@pytest.mark.requirement("kimchi:values", "states:kimchi:null")
def test_premiums_of_an_exchange_that_is_down_and_without_a_rate_are_unknown(served: Served) -> None:
    content = served.api.get("/api/kimchi-premium/history?base=BTC&range=2d").json
    assert len(content["t"]) > 3
    assert {*content["upbit"], *content["bithumb"], *content["bithumb_usdt"]} == {None}
    assert all(value is not None for value in content["upbit_usdt"])
    assert "no exchange rate is known" in content["source"]
    assert ("bithumb", "venue_unreachable") in {(gap["venue"], gap["reason"]) for gap in content["gaps"]}


@pytest.mark.requirement("overlay:states", "states:overlay:insufficient")
def test_coins_without_a_common_bucket_are_insufficient(served: Served) -> None:
    """USDC has spot markets alone. Of coins that both were recorded nothing is filled where one was not."""
    got = served.api.get("/api/coins/overlay?c=BTC,USDC&range=7d").json
    assert (got["state"], got["t"], got["BTC"], got["USDC"]) == ("insufficient", [], [], [])
    assert {base: source["state"] for base, source in got["sources"].items()} == {"BTC": "ok", "USDC": "insufficient"}
    got = served.api.get("/api/coins/overlay?c=BTC,ETH&range=7d&m=oi").json
    assert (got["state"], got["t"]) == ("ok", [t // HOUR * HOUR for t in TIMES])
    assert [gap["venue"] for gap in got["gaps"]["BTC"]].count("bybit") > 0


@pytest.mark.requirement("states:markets:down", "states:depth:unavailable", "states:listings:sources")
def test_a_quarter_of_an_hour_without_responses_makes_order_books_unavailable(later: Api) -> None:
    answer = later.get("/api/order-book-depth")
    assert (answer.status, answer.json["state"]) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0
    # Whose books are asked for is known from before: the minute's list of perps did not come.
    replica = later.serving / json.loads((later.serving / "current.json").read_text())["replica"]
    with duckdb.connect(str(replica), read_only=True) as con:
        assert con.execute("select count(*), count(nullif(symbol, '')) from order_book_depth").fetchall() == [(40, 40)]
    assert later.get("/api/perp-dex-ranking").json["state"] == "loading"  # none of these has ever been asked
    content = later.get("/api/new-listings?window=30d").json
    assert (content["failed"], content["missing"], content["live_as_of"]) == (["binance"], ["bybit"], None)
    assert {(row["live"], row["price"], row["change"], row["oi_usd"]) for row in content["listings"]} == {
        (False, None, None, None)
    }
    got = later.get("/api/open-interest-acceleration?min_oi=0").json
    assert (got["rows"], got["unavailable"], got["targets_ms"][2]) == ([], [], LATER)
    sections = later.get("/api/market-movers").json["sections"]
    for name in ("price", "oi", "funding", "liquidations"):
        assert sections[name]["unavailable"], name
        assert (sections[name]["up"], sections[name]["down"]) == ([], None), name
    assert later.get("/api/markets").json["coins"] == []
    assert later.series("oi", base="BTC", range="10m", step="1m")["t"] == []


@pytest.mark.requirement("states:coin:down")
def test_a_coin_that_is_not_observed_is_still_tracked(served: Served, later: Api) -> None:
    before, now = (api.get("/api/coin/btc").json for api in (served.api, later))
    figures = ("perp_vol24h", "spot_vol24h", "oi_usd", "funding_avg")
    assert all(before["market"][name] is not None for name in figures)
    assert {name: value for name, value in now["market"].items() if value is not None} == {
        "base": "BTC",
        "hip3": False,
        **{name: [] for name in ("venues", "cat", "perps", "spots")},
    }
    assert now["market"].keys() == before["market"].keys() > {*figures, "markets", "expected", "price", "px_24h"}
    assert set(now) == set(before)
    assert later.get("/api/coin/NOPE").json == {"error": "unknown coin"}


@pytest.mark.requirement("explain:evidence")
@pytest.mark.parametrize(
    ("metric", "market", "endpoint", "column", "field"),
    [
        ("oi", "binance:perp:BTCUSDT", "open_interest", "open_interest", "openInterest"),
        ("price", "bybit:perp:BTCUSDT", "perp_tickers", "last_price", "lastPrice"),
        ("funding", "binance:perp:ETHUSDT", "funding", "funding_rate", "lastFundingRate"),
        ("price", "gate:perp:BTC_USDT", "perp_tickers", "last_price", "last"),
        ("volume", "binance:perp:BTCUSDT", "perp_bars", "turnover", None),
    ],
)
def test_a_number_is_explained_down_to_the_exchange_s_body(
    served: Served, metric: str, market: str, endpoint: str, column: str, field: str | None
) -> None:
    at = NOW - MINUTE if metric == "volume" else NOW
    got = served.api.get(f"/api/explain?metric={metric}&market={market}&t={at}&step=1m").json
    assert got["evidence"]["reason"] is None
    [response] = [one for one in got["evidence"]["responses"] if one["endpoint"] == endpoint]
    [landed] = [
        row
        for row in served.product.rows
        if (row.venue, row.endpoint, row.key) == (response["venue"], endpoint, response["key"])
        and (row.tick_ms, row.requested_ms) == (response["tick_ms"], response["requested_ms"])
    ]
    assert landed.body
    assert response["body_bytes"] == len(landed.body.encode())
    assert response["body"] == (landed.body if len(landed.body) <= 65_536 else None)
    [row] = response["rows"]
    value = row["columns"][column]
    if field:
        assert float({name.lower(): text for name, text in row["row"].items()}[field.lower()]) == value
    if metric != "oi" and metric != "funding":
        assert got["values"]["v"] == pytest.approx(value)
    file = served.product.settings.home / "landing" / response["file"]
    assert response["load"] in file.name
    with duckdb.connect() as con:
        command = response["read_with"].partition("select ")[2].rstrip("'\"").replace("'\"'\"'", "'")
        sql = "select " + command.replace(response["file"], str(file))
        assert con.execute(sql).fetchall() == [(landed.body,)]


@pytest.mark.requirement("methodology:sql", "methodology:shape")
def test_a_metric_s_methodology_is_that_of_this_edition(served: Served) -> None:
    got = served.api.get("/api/methodology/oi?step=1m&venue=binance").json
    models = {one["model"]: one for one in got["models"]}
    named = {"series_base_1m", "series_market_1m", "int_market_minutes", "raw_window", "landing.responses"}
    assert named <= set(models)
    assert {one["layer"] for one in got["models"] if one["sql"] is None} == {"seeds", "sources"}
    assert "{{" not in "".join(one["sql"] or "" for one in got["models"])
    [source] = [one for one in got["sources"] if one["model"] == "stg_binance__open_interest"]
    assert source["measures"]
    assert source["requests"] == ["GET https://fapi.binance.com/fapi/v1/openInterest"]
    assert source["fields"]["symbol"] == "symbol"
    assert "openInterest" in source["fields"]["open_interest"]
    assert source["document"].startswith("https://developers.binance.com/")
    assert {one["kind"] for one in got["tests"]} == {"test", "unit_test"}
