"""All simulated venues: what is recorded of each is served by it; wire formats as really sent, errors, limits."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ingest.venues import VENUES
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import World, build_world
from sandbox.venues import SIMULATED_VENUES
from sandbox.wire.endpoint import Request
from tests.support.servers.sandbox_client import SandboxClient, kinds, recorded, sandbox

NOW = ANCHOR_MS + 37_500  # half a minute past a minute boundary
MINUTE = 60_000
FAPI, API = "/fapi.binance.com/fapi/v1", "/api.binance.com/api/v3"
BYBIT = "/api.bybit.com/v5/market"


DECLARED = {venue.name: venue for venue in VENUES}
PARAMETER = re.compile(r"<(\w+):\w+>")  # in a path, as Sanic writes it
each_venue = pytest.mark.parametrize("simulated", SIMULATED_VENUES, ids=lambda one: one.venue)


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(build_universe("small"), 1, Clock(fixed_ms=NOW))


@each_venue
def test_every_endpoint_and_stream_that_is_recorded_is_simulated(world: World, simulated: SimulatedVenue) -> None:
    served = [(one.method, one.host, re.compile(PARAMETER.sub("[^/]+", one.path)))
              for one in simulated.endpoints(world)]  # fmt: skip
    for wanted in DECLARED[simulated.venue].endpoints:
        path = wanted.path.replace("{key}", "x")
        matching = [pattern for method, host, pattern in served
                    if (method, host) == (wanted.method, wanted.host) and pattern.fullmatch(path)]  # fmt: skip
        assert matching, f"{wanted.method} {wanted.host}{wanted.path} of {wanted.name} is not served"
    streams = DECLARED[simulated.venue].streams
    assert {stream.host for stream in streams} <= set(simulated.hosts)
    assert bool(streams) == (simulated.sockets is not None)


@each_venue
def test_a_venue_serves_its_own_hosts_within_its_own_limits(world: World, simulated: SimulatedVenue) -> None:
    served = simulated.endpoints(world)
    assert {one.venue for one in served} == {simulated.venue}
    assert {one.host for one in served} <= set(simulated.hosts)
    assert {one.pool for one in served} <= set(simulated.pools)
    assert all(pool == simulated.venue or pool.startswith(f"{simulated.venue}_") for pool in simulated.pools)
    addresses = [(one.method, one.host, one.path) for one in served]
    assert len(set(addresses)) == len(addresses)
    others = [host for one in SIMULATED_VENUES if one is not simulated for host in one.hosts]
    assert set(others).isdisjoint(simulated.hosts)


@each_venue
def test_a_request_without_parameters_is_answered_by_each_endpoint(world: World, simulated: SimulatedVenue) -> None:
    """With data or a refusal, but with no error of the simulator; what is in the path is a market that is unknown."""
    for one in simulated.endpoints(world):
        unknown = dict.fromkeys(PARAMETER.findall(one.path), "x")
        answer = one.respond(Request(unknown, None if one.method == "GET" else {}, NOW))
        assert answer.status < 500, one.path
        assert answer.body, one.path


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW, universe="small") as one:
        yield one


def same(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], newer: set[str], optional: set[str]) -> None:
    """Every recorded key with the recorded types; beyond it only keys that the venue added since the recording."""
    mine, real = kinds(ours), kinds(theirs)
    assert set(mine) - set(real) <= newer
    assert set(real) - set(mine) <= optional
    for key in set(mine) & set(real):
        assert mine[key] <= real[key], f"{key}: {mine[key]} is not {real[key]}"


@pytest.mark.parametrize(
    ("path", "recording", "rows", "newer"),
    [
        (f"{FAPI}/ticker/24hr", "fapi_v1_ticker_24hr.gct.json", lambda d: d[1]["data"], set()),
        (f"{FAPI}/premiumIndex", "fapi_v1_premiumIndex_all.2025.json.gz", lambda d: d, set()),
        (f"{FAPI}/fundingInfo", "fapi_v1_fundingInfo.gct.json", lambda d: d[0]["data"], set()),
        (f"{API}/ticker/24hr", "binance_tickers.agentic2026.json", lambda d: d, set()),
        # exchangeInfo of 2025 and, for spot, of 2020
        (f"{FAPI}/exchangeInfo", "fapi_v1_exchangeInfo.gct.json", lambda d: d[0]["data"]["symbols"], set()),
        (f"{API}/exchangeInfo", "api_v3_exchangeInfo.gct.json.gz", lambda d: d[0]["data"]["symbols"],
         {"quoteAssetPrecision"}),
    ],
)  # fmt: skip
async def test_binance_bodies_have_the_recorded_shape(
    client: SandboxClient, recordings: Path, path: str, recording: str, rows: Any, newer: set[str]
) -> None:
    body = (await client.get(path)).json
    theirs = rows(recorded(recordings / "binance" / recording))
    same(body["symbols"] if isinstance(body, dict) else body, theirs, newer, set())


async def test_binance_s_mini_tickers_are_fields_of_the_full_ones(client: SandboxClient) -> None:
    """The fields of the document's example (24hr ticker, Response - MINI); futures have no types."""
    full, mini = [(await client.get(f"{API}/ticker/24hr", type=name)).json for name in ("FULL", "MINI")]
    assert {tuple(one) for one in mini} == {
        ("symbol", "openPrice", "highPrice", "lowPrice", "lastPrice", "volume", "quoteVolume", "openTime", "closeTime",
         "firstId", "lastId", "count"),
    }  # fmt: skip
    assert [{name: one[name] for name in mini[0]} for one in full] == mini
    assert (await client.get(f"{API}/ticker/24hr", type="MINI", symbol="BTCUSDT")).json in mini
    assert "priceChange" in (await client.get(f"{FAPI}/ticker/24hr", type="MINI")).json[0]


async def test_binance_exchange_info_has_the_recorded_outer_shape(client: SandboxClient, recordings: Path) -> None:
    for path, name in ((FAPI, "fapi_v1_exchangeInfo.gct.json"), (API, "api_v3_exchangeInfo.gct.json.gz")):
        ours, theirs = (await client.get(f"{path}/exchangeInfo")).json, recorded(recordings / "binance" / name)[0]
        assert set(ours) - {"timezone"} == set(theirs["data"]) - {"timezone"}


async def test_binance_klines_and_open_interest_have_the_recorded_shape(
    client: SandboxClient, recordings: Path
) -> None:
    for path, name in ((FAPI, "fapi_v1_klines.gct.json.gz"), (API, "api_v3_klines.gct.json.gz")):
        ours = (await client.get(f"{path}/klines", symbol="BTCUSDT", interval="1m", limit=3)).json
        theirs = recorded(recordings / "binance" / name)[0]["data"]
        assert [type(value) for value in ours[0]] == [type(value) for value in theirs[0]]
        assert ours[0][6] == ours[0][0] + 59_999
    ours = (await client.get(f"{FAPI}/openInterest", symbol="BTCUSDT")).json
    samples = recorded(recordings / "binance" / "samples.nautilus.json")
    theirs = next(one["json"] for one in samples if one["file"] == "http_futures_market_open_interest.json")
    same([ours], [theirs], set(), set())


async def test_bybit_bodies_have_the_recorded_shape(client: SandboxClient, recordings: Path) -> None:
    newer = {"singleOpenInterest", "singleOpenInterestValue", "fundingIntervalHour"}
    for category, added in (("linear", newer), ("spot", set())):
        ours = (await client.get(f"{BYBIT}/tickers", category=category)).json
        theirs = recorded(recordings / "bybit" / f"bybit_tickers.{category}_api.jhabermas2024.json.gz")
        assert list(ours) == list(theirs)
        same(ours["result"]["list"], theirs["result"]["list"], added, set())
        dated = [row for row in ours["result"]["list"] if "-" in row["symbol"]]
        assert bool(dated) == (category == "linear")
        assert all(row["fundingRate"] == "" and row["deliveryTime"] != "0" for row in dated)
    samples = {one["file"]: one["text"] for one in recorded(recordings / "bybit" / "samples.jkorf.json")}
    for category, name, newest in (("linear", "GetLinearInverseSymbols", {"isPreListing", "preListingInfo",
                                    "symbolType"}), ("spot", "GetSpotSymbols", {"innovation"})):  # fmt: skip
        text = samples[f"Endpoints/V5Api/ExchangeData/{name}.txt"]
        theirs = json.loads(text[text.index("{") :])
        ours = (await client.get(f"{BYBIT}/instruments-info", category=category)).json
        same(ours["result"]["list"], theirs["result"]["list"], newest, set())
    rows = (await client.get(f"{BYBIT}/kline", category="linear", symbol="BTCUSDT", interval="1", limit=3)).json
    assert all(isinstance(value, str) for row in rows["result"]["list"] for value in row)
    assert [len(row) for row in rows["result"]["list"]] == [7, 7, 7]
    assert int(rows["result"]["list"][0][0]) > int(rows["result"]["list"][1][0])


async def test_hyperliquid_bodies_have_the_recorded_shape(client: SandboxClient, recordings: Path) -> None:
    folder = recordings / "hyperliquid"
    calls = recorded(folder / "info_MetaAndAssetCtxs.sonirico.json.gz")
    # The all-markets call has no margin modes for core markets; the dex call has them.
    for dex in ("", "xyz"):
        theirs = next(one["response"] for one in calls if one["request"].get("dex") == dex)
        meta, contexts = (await client.info({"type": "metaAndAssetCtxs", "dex": dex})).json
        assert set(meta) == set(theirs[0])
        assert len(meta["universe"]) == len(contexts)
        same(meta["universe"], theirs[0]["universe"], set(), {"onlyIsolated", "marginMode", "isDelisted"})
        same(contexts, theirs[1], set(), set())
    calls = recorded(folder / "info_SpotMetaAndAssetCtxs.sonirico.json.gz")
    theirs = next(one["response"] for one in calls if one["request"]["type"] == "spotMetaAndAssetCtxs")
    meta, contexts = (await client.info({"type": "spotMetaAndAssetCtxs"})).json
    same(meta["universe"], theirs[0]["universe"], set(), set())
    same(meta["tokens"], theirs[0]["tokens"], set(), set())
    same(contexts, theirs[1], set(), set())
    dexes, theirs = (await client.info({"type": "perpDexs"})).json, recorded(folder / "perpdexs.eugene2026.json")
    assert dexes[0] is None
    assert theirs[0] is None
    same(dexes[1:], theirs[1:], set(), set())
    req = {"coin": "kPEPE", "interval": "1m", "startTime": NOW - 5 * MINUTE, "endTime": NOW}
    candles = (await client.info({"type": "candleSnapshot", "req": req})).json
    theirs = next(one["response"] for one in recorded(folder / "info_get_candles_snapshot.hlsdk.json")
                  if one["request"]["type"] == "candleSnapshot")  # fmt: skip
    same(candles, theirs, set(), set())


async def test_liquidation_frames_have_the_recorded_shape(client: SandboxClient, recordings: Path) -> None:
    frames = [one["message"]["data"] for one in recorded(recordings / "binance" / "ws-messages.tardis.json")
              if "btcusdt@forceOrder" in str(one["message"])]  # fmt: skip
    pushes = [one["message"] for one in recorded(recordings / "bybit" / "ws-messages.tardis.json")
              if "allLiquidation" in str(one["message"].get("topic"))]  # fmt: skip
    markets = build_universe("small").listings
    topics = [f"allLiquidation.{one.symbol}" for one in markets if one.venue == "bybit" and one.type == "perp"]
    async with (
        client.session.ws_connect(client.url + "/fstream.binance.com/market/ws/!forceOrder@arr") as binance,
        client.session.ws_connect(client.url + "/stream.bybit.com/v5/public/linear") as bybit,
    ):
        await bybit.send_json({"op": "ping"})
        assert (await bybit.receive_json(timeout=10))["ret_msg"] == "pong"
        await bybit.send_json({"op": "subscribe", "args": topics, "req_id": "7"})
        assert await bybit.receive_json(timeout=10) | {"conn_id": ""} == {
            "success": True, "ret_msg": "", "conn_id": "", "req_id": "7", "op": "subscribe"}  # fmt: skip
        await client.clock(NOW + 10 * MINUTE)
        frame, push = await binance.receive_json(timeout=10), await bybit.receive_json(timeout=10)
    same([frame], frames, {"st"}, set())
    same([frame["o"]], [one["o"] for one in frames], {"ps"}, set())
    same([push], pushes, set(), set())
    same(push["data"], [row for one in pushes for row in one["data"]], set(), set())


async def test_old_binance_stream_paths_connect_and_stay_silent(client: SandboxClient) -> None:
    async with client.session.ws_connect(client.url + "/fstream.binance.com/ws/!forceOrder@arr") as ws:
        await client.clock(NOW + 20 * MINUTE)
        await ws.send_json({"method": "SUBSCRIBE", "params": ["!forceOrder@arr"], "id": 3})
        assert await ws.receive_json(timeout=10) == {"result": None, "id": 3}


async def test_a_delisted_market_leaves_the_tickers_and_is_marked(client: SandboxClient) -> None:
    venues = {"binance", "bybit", "hyperliquid"}
    listings = [one for one in build_universe("small").listings if one.venue in venues]
    gone = {one.venue: one for one in listings if one.type == "perp" and not one.group and one.delisted_ms < 1.8e12}
    hour = 3_600_000
    for venue, one in gone.items():
        for now, listed in ((one.delisted_ms - hour, True), (one.delisted_ms + hour, False)):
            await client.clock(now)
            if venue == "binance":
                tickers = {row["symbol"] for row in (await client.get(f"{FAPI}/ticker/24hr")).json}
                info = (await client.get(f"{FAPI}/exchangeInfo")).json["symbols"]
                status = next(row["status"] for row in info if row["symbol"] == one.symbol)
                assert status == ("TRADING" if listed else "SETTLING")
                index = (await client.get(f"{FAPI}/premiumIndex", symbol=one.symbol)).json
                assert (index["nextFundingTime"] == 0) == (not listed)
            elif venue == "bybit":
                body = (await client.get(f"{BYBIT}/tickers", category="linear")).json
                tickers = {row["symbol"] for row in body["result"]["list"]}
                body = (await client.get(f"{BYBIT}/instruments-info", category="linear", limit=1000)).json
                status = next(row["status"] for row in body["result"]["list"] if row["symbol"] == one.symbol)
                assert status == ("Trading" if listed else "Closed")
            else:
                meta, contexts = (await client.info({"type": "metaAndAssetCtxs"})).json
                position = next(n for n, row in enumerate(meta["universe"]) if row["name"] == one.symbol)
                assert meta["universe"][position].get("isDelisted", False) == (not listed)
                tickers = {one.symbol} if contexts[position]["midPx"] is not None else set()
            assert (one.symbol in tickers) == listed
    assert set(gone) == venues


async def test_bybit_instruments_are_paged_by_cursor(client: SandboxClient) -> None:
    whole = (await client.get(f"{BYBIT}/instruments-info", category="linear", limit=1000)).json["result"]
    seen: list[str] = []
    cursor = ""
    for _ in range(20):
        got = await client.get(f"{BYBIT}/instruments-info", category="linear", limit=20, cursor=cursor)
        page = got.json["result"]
        seen += [row["symbol"] for row in page["list"]]
        cursor = page["nextPageCursor"]
        if not cursor:
            break
    assert seen == [row["symbol"] for row in whole["list"]]
    assert whole["nextPageCursor"] == ""


async def test_wrong_requests_get_the_venues_own_errors(client: SandboxClient) -> None:
    got = await client.get(f"{FAPI}/openInterest", symbol="NOPEUSDT")
    assert (got.status, got.json) == (400, {"code": -1121, "msg": "Invalid symbol."})
    assert (await client.get(f"{FAPI}/openInterest")).json["code"] == -1102
    assert (await client.get(f"{FAPI}/klines", symbol="BTCUSDT", interval="7m")).json["code"] == -1120
    assert (await client.get(f"{FAPI}/klines", symbol="BTCUSDT", interval="1m", limit=1501)).json["code"] == -1130
    assert (await client.get(f"{API}/klines", symbol="BTCUSDT", interval="1m", limit="x")).json["code"] == -1100
    for path, params in (("tickers", {"category": "nope"}), ("kline", {"symbol": "NOPE", "interval": "1"}),
                         ("kline", {"symbol": "BTCUSDT", "interval": "7"})):  # fmt: skip
        got = await client.get(f"{BYBIT}/{path}", **{"category": "linear", **params})
        assert (got.status, got.json["retCode"]) == (200, 10001)
    assert (await client.info({"type": "nope"})).status == 422
    assert (await client.info({"type": "metaAndAssetCtxs", "dex": "nope"})).status == 500
    assert (await client.get("/fapi.binance.com/fapi/v1/nope")).status == 404
