"""Hyperliquid's settlements, annotations and wallets: as really sent, as simulated, as recorded, against the truth."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

from ingest.declaration.endpoint import FanOut
from ingest.landing.rows import Row
from ingest.recorder.schedule import Catalogue
from ingest.recorder.streams import StreamRecorder
from ingest.venues.hyperliquid import HYPERLIQUID, LIQUIDATORS
from sandbox.derived.wallets import Wallets
from sandbox.market.derivatives import funding_rate
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.noise import key
from sandbox.venues.hyperliquid.wallets import wallets_of
from tests.support.pipeline.venue_minute import recorded_minute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.loopback_stream import until
from tests.support.servers.sandbox_client import sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
NOW = ANCHOR_MS + 7 * 3_600_000 + 2_500
HOUR = 3_600_000
VIEWS = ("perp_annotations", "settlements", "wallets", "wallet_positions", "liquidation_fills")
COLUMNS = "symbol, ts, tid, wallet, role, side, size, price, mark_price, method"
# As clients read it (no body was recorded).
ANNOTATIONS = [
    ["xyz:HO", {"category": "commodities", "displayName": "DIESEL", "keywords": ["ho", "ulsd"]}],
    ["xyz:NVDA", {"category": "stocks"}],
]
LEADERS = {"leaderboardRows": [
    {"ethAddress": "0xABc0000000000000000000000000000000000001", "accountValue": "1234.5", "windowPerformances": [
        ["day", {"pnl": "1.0", "roi": "0.1", "vlm": "10.0"}], ["week", {"pnl": "2.0", "roi": "0.1", "vlm": "70.0"}],
        ["month", {"pnl": "-3.0", "roi": "0.1", "vlm": "300.0"}],
        ["allTime", {"pnl": "4.0", "roi": "0.1", "vlm": "900.0"}]], "prize": 0, "displayName": None},
]}  # fmt: skip


def push(*fills: Any, user: str) -> dict[str, Any]:
    return {"channel": "userFills", "data": {"user": user, "fills": list(fills)}}


def heard(minute: int, *messages: Any) -> dict[str, Any]:
    """A span of the liquidators' stream."""
    body = [{"received_ms": minute + 10 * n, "message": message} for n, message in enumerate(messages)]
    return response(minute, "hyperliquid", "liquidator_fills", body, status=101, requested_ms=minute)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("hyperliquid"))


def reported(warehouse: Warehouse, columns: str, view: str) -> list[tuple[Any, ...]]:
    return warehouse.rows(f"select {columns} from stg_hyperliquid__{view} order by all")


def test_recorded_settlements_are_read(warehouse: Warehouse, recordings: Path) -> None:
    folder, rows, expected = recordings / "hyperliquid", [], []
    bodies = {coin: read(folder / f"hyperliquid_funding_{coin.lower()}.agentic2026.json")
              for coin in ("BTC", "ETH", "SOL", "DOGE", "XRP")}  # fmt: skip
    for n, (coin, body) in enumerate(bodies.items()):
        rows.append(response(AT_MS, "hyperliquid", "settlements", body, key=coin, requested_ms=AT_MS + n))
        expected += [(coin, one["time"], float(one["fundingRate"]), None) for one in body]
    rows.append(response(AT_MS, "hyperliquid", "settlements", [], key="NEW"))
    warehouse.build(rows, "raw_window")
    assert reported(warehouse, "symbol, settled_ms, funding_rate, reject", "settlements") == sorted(expected)
    assert len(expected) > 700


def test_recorded_states_are_read(warehouse: Warehouse, recordings: Path) -> None:
    folder = recordings / "hyperliquid"
    whale, small = (read(folder / f"clearinghouse_{name}.eugene2026.json") for name in ("whale", "small"))
    user = read(folder / "info_get_user_state.hlsdk.json")[0]["response"]
    users = ["0xA1", "0xB2", "0xC3", "0xD4", "0xE5"]
    states = [whale, small, None, read(folder / "info_UserState_WithDex.sonirico.json")[0]["response"], user]
    asked = json.dumps({"type": "batchClearinghouseStates", "users": users})
    wrong = json.dumps({"type": "batchClearinghouseStates", "users": users[:2], "dex": "xyz"})
    warehouse.build([
        response(AT_MS, "hyperliquid", "wallet_positions", states, key="a", params=asked),
        response(AT_MS, "hyperliquid", "dex_positions", states, key="b", params=wrong),
        response(AT_MS, "hyperliquid", "dex_positions", "nonsense", key="c", params=wrong),
    ], "raw_window")  # fmt: skip
    expected = [
        (address.lower(), state["time"], one["coin"], float(one["szi"]), float(one["entryPx"]),
         None if one["liquidationPx"] is None else float(one["liquidationPx"]), one["leverage"]["value"],
         one["leverage"]["type"], float(one["marginUsed"]), float(one["positionValue"]),
         float(state["marginSummary"]["accountValue"]))
        for address, state in zip(users, states, strict=True) if state and "time" in state
        for one in (held["position"] for held in state["assetPositions"])
    ]  # fmt: skip
    columns = """wallet, t, symbol, size, entry_price, liquidation_price, leverage, margin_mode, margin_used_usd,
                 position_value_usd, account_value_usd"""
    good = warehouse.rows(f"select {columns} from stg_hyperliquid__wallet_positions where reject is null order by all")
    assert good == sorted(expected)
    assert len(good) > 30
    assert any(row[3] < 0 for row in good)
    bad = "select key, wallet, reject from stg_hyperliquid__wallet_positions where reject is not null"
    # States of 2023 had no time: nothing says when it was so.
    old = [("a", "0xe5", "incomplete")] * (0 if "time" in user else len(user["assetPositions"]))
    assert sorted(warehouse.rows(bad), key=str) == sorted(
        [("a", "0xc3", "incomplete"), ("b", None, "unreadable"), ("c", None, "unreadable"), *old], key=str
    )


def test_a_liquidation_is_the_victims_and_counts_once(warehouse: Warehouse, recordings: Path) -> None:
    folder = recordings / "hyperliquid"
    nautilus = {one["file"]: one["json"] for one in read(folder / "samples.nautilus.json")}
    seller = nautilus["ws_user_fill_liquidation.json"]["data"]["fills"][0]
    victim = seller["liquidation"]["liquidatedUser"]
    backstop = seller | {
        "coin": "ETH", "side": "B", "tid": 7, "dir": "Open Long",
        "liquidation": seller["liquidation"] | {"method": "backstop"},
    }  # fmt: skip
    unnamed = seller | {"tid": 8, "liquidation": {"markPx": "1", "method": "market"}}
    own = seller | {"side": "B", "dir": "Close Short"}
    plain = read(folder / "info_get_user_fills_by_time.hlsdk.json.gz")[0]["response"]
    page = {"key": "0xMaker", "requested_ms": AT_MS + 5}
    warehouse.build([
        heard(AT_MS, push(backstop, user=LIQUIDATORS[0]), {"channel": "subscriptionResponse", "data": {}},
              push(backstop, user=LIQUIDATORS[0]), push(user=LIQUIDATORS[1])),
        response(AT_MS, "hyperliquid", "wallet_fills", [seller, unnamed], **page),
        response(AT_MS, "hyperliquid", "wallet_fills", [own], key=victim),
        response(AT_MS, "hyperliquid", "wallet_fills", plain + nautilus["http_user_fills_dust_conversion.json"],
                 key="0xother"),
        response(AT_MS, "hyperliquid", "wallet_fills", "<html>", key="0xbroken"),
    ], "raw_window")  # fmt: skip
    found = warehouse.rows(
        f"select {COLUMNS} from stg_hyperliquid__liquidation_fills where reject is null order by tid"
    )
    at, price = seller["time"], 66653.0
    # The maker sold to somebody who had to buy; the vault bought from somebody who had to sell.
    assert found == [
        ("ETH", at, "7", victim, "counterparty", "long", 0.001, price, 66607.0, "backstop"),
        ("BTC", at, str(seller["tid"]), victim, "victim", "short", 0.001, price, 66607.0, "market"),
    ]
    bad = "select key, reject from stg_hyperliquid__liquidation_fills where reject is not null order by key"
    assert warehouse.rows(bad) == [("0xMaker", "incomplete"), ("0xbroken", "unreadable")]


def test_wallets_and_annotations_are_read(warehouse: Warehouse) -> None:
    warehouse.build([
        response(AT_MS, "hyperliquid", "leaderboard", LEADERS),
        response(AT_MS, "hyperliquid", "perp_annotations", ANNOTATIONS),
        response(AT_MS + MINUTE, "hyperliquid", "leaderboard", "[1]"),
        response(AT_MS + MINUTE, "hyperliquid", "perp_annotations", '[["xyz'),
    ], "raw_window")  # fmt: skip
    columns = "wallet, account_value_usd, volume_day_usd, volume_week_usd, volume_month_usd, pnl_month_usd, reject"
    assert reported(warehouse, columns, "wallets") == [
        ("0xabc0000000000000000000000000000000000001", 1234.5, 10, 70, 300, -3, None),
        (None, None, None, None, None, None, "unreadable"),
    ]
    assert reported(warehouse, "symbol, category, display_name, keywords, reject", "perp_annotations") == [
        ("xyz:HO", ["commodities"], "DIESEL", ["ho", "ulsd"], None), ("xyz:NVDA", ["stocks"], None, None, None),
        (None, None, None, None, "unreadable"),
    ]  # fmt: skip


async def test_the_simulator_uses_the_venues_wire_format(recordings: Path) -> None:
    folder = recordings / "hyperliquid"
    nautilus = {one["file"]: one["json"] for one in read(folder / "samples.nautilus.json")}
    async with sandbox(now_ms=NOW, rate_limits=False) as client:
        wallets = wallets_of(client.app.ctx.sandbox.world)
        users = wallets.address[:60]
        real = [read(folder / f"clearinghouse_{name}.eugene2026.json") for name in ("whale", "small")]
        ours = (await client.info({"type": "batchClearinghouseStates", "users": users})).json
        assert len(ours) == len(users)
        isolated = "[].assetPositions[].position.leverage.rawUsd"
        assert (
            differences(real, ours, optional={isolated}, unscaled={"sinceChange", "crossMaintenanceMarginUsed"}) == []
        )
        one = (await client.info({"type": "clearinghouseState", "user": users[0]})).json
        assert one == ours[0]
        unknown = (await client.info({"type": "clearinghouseState", "user": "0x" + "0" * 40})).json
        assert (unknown["assetPositions"], unknown["marginSummary"]["accountValue"]) == ([], "0.0")
        ours = (await client.info({"type": "fundingHistory", "coin": "BTC", "startTime": NOW - 300 * HOUR})).json
        real = read(folder / "hyperliquid_funding_btc.agentic2026.json")
        assert differences(real, ours) == []
        assert len(ours) == 300
        old = {"type": "fundingHistory", "coin": "BTC", "startTime": NOW - 900 * 24 * HOUR}
        page = (await client.info(old)).json
        assert len(page) == 500
        assert 0 <= page[0]["time"] - old["startTime"] < HOUR + 100
        fills = [fill for user in users for fill in (await client.info({"type": "userFills", "user": user})).json]
        real = read(folder / "info_UserFillsByTime.sonirico.json")[0]["response"]
        victim = nautilus["ws_user_fill_liquidation.json"]["data"]["fills"]
        counters = {"oid", "tid", "sz", "px", "startPosition", "closedPnl", "fee"}
        options: dict[str, Any] = {"optional": {"liquidation", "cloid"}, "unscaled": counters}
        assert differences(real + victim, fills, **options) == []
        assert any("liquidation" in fill for fill in fills)
        ours = (await client.info({"type": "perpConciseAnnotations"})).json
        assert differences(ANNOTATIONS, ours, optional={"[][1].displayName", "[][1].keywords"}) == []
        categories = (await client.info({"type": "perpCategories"})).json
        assert categories == [[coin, note["category"]] for coin, note in ours]
        ours = (await client.get("/stats-data.hyperliquid.xyz/Mainnet/leaderboard")).json
        assert differences(LEADERS, ours, tolerance=1e9) == [
            "leaderboardRows[].displayName: text, but really null"
        ] or (differences(LEADERS, ours, tolerance=1e9) == [])
        assert len(ours["leaderboardRows"]) == wallets.count
        for wrong in ({"type": "batchClearinghouseStates"}, {"type": "userFillsByTime", "user": users[0]}):
            assert (await client.info(wrong)).status == 422


async def test_a_recorded_minute_is_the_truth(warehouse: Warehouse) -> None:
    names = {"leaderboard", "wallet_positions", "dex_positions", "wallet_fills", "perp_annotations", "settlements",
             "perp_dexes", "perp_tickers"}  # fmt: skip
    venue = replace(HYPERLIQUID, streams=(), endpoints=tuple(
        replace(one, fan_out=FanOut(of=one.fan_out.of)) if one.fan_out and "positions" in one.name else one
        for one in HYPERLIQUID.endpoints if one.name in names
    ))  # fmt: skip
    rows, world = await recorded_minute(venue, NOW)
    assert [row["error"] for row in rows if row["error"]] == []
    count = Counter(row["endpoint"] for row in rows)
    assert (count["wallet_positions"], count["dex_positions"], count["wallet_fills"]) == (10, 60, 5)
    warehouse.build(rows, "raw_window")
    for view in VIEWS:
        assert reported(warehouse, "reject", view) == [(None,)] * len(reported(warehouse, "reject", view)), view
    wallets, listings = wallets_of(world), world.universe.listings
    found = warehouse.rows("select wallet, account_value_usd, volume_week_usd from stg_hyperliquid__wallets")
    assert len(found) == wallets.count
    ranked = [wallet for wallet, *_ in sorted(found, key=lambda row: -row[1])]
    rest = sorted((row for row in found if row[0] in set(ranked[300:])), key=lambda row: -row[2])
    tracked = {*ranked[:300], *(wallet for wallet, *_ in rest[:200])}
    asked = {
        user for row in rows if row["endpoint"] == "wallet_positions" for user in json.loads(row["params"])["users"]
    }
    assert asked == tracked
    held = {
        (wallets.owner(one["seat"]), listings[one["row"]].symbol): one
        for one in wallets.open_at(NOW).each() if wallets.owner(one["seat"]) in tracked
    }  # fmt: skip
    columns = "wallet, symbol, size, entry_price, liquidation_price, leverage, margin_mode, position_value_usd"
    positions = reported(warehouse, columns, "wallet_positions")
    assert {row[:2] for row in positions} == set(held)
    assert {row[1] for row in positions if ":" in row[1]}, "positions on the builders' dexes too"
    for wallet, symbol, size, entry, liquidation, leverage, mode, worth in positions:
        true = held[wallet, symbol]
        mark = wallets.mark(true["row"], NOW // MINUTE)
        assert size == pytest.approx(true["size"] if true["long"] else -true["size"])
        assert (entry, liquidation) == pytest.approx((true["entry"], true["liquidation"]), rel=1e-3)
        assert (leverage, mode) == (true["leverage"], "isolated")
        assert worth == pytest.approx(true["size"] * mark, rel=1e-6)
        assert (mark > true["liquidation"]) == true["long"], "beyond its liquidation price nothing is open"
    paid = reported(warehouse, "symbol, settled_ms, funding_rate", "settlements")
    for symbol, at, rate in paid[::7]:
        number = np.array([world.universe.row["hyperliquid", "perp", symbol]])
        true = funding_rate(world.market, number, np.array([at // HOUR * 60 - 1]), np.array([[1]]))[0, 0]
        assert (at % HOUR < 100, rate) == (True, pytest.approx(true, abs=1e-9))
    categories = dict(reported(warehouse, "symbol, category", "perp_annotations"))
    assert categories["xyz:TSLA"] == ["stocks"]


def a_liquidation(wallets: Wallets, backstop: bool) -> dict[str, Any]:
    found = wallets.cells_at(NOW // MINUTE)
    gone = found.where(found.liquidated & (found.backstop == backstop) & (found.closed_ms < NOW - HOUR))
    return max(gone.each(), key=lambda one: one["closed_ms"])


async def test_liquidators_are_found_and_their_fills_agree_with_the_simulated_market(warehouse: Warehouse) -> None:
    async with sandbox(now_ms=NOW) as client:
        world = client.app.ctx.sandbox.world
        wallets, listings = wallets_of(world), world.universe.listings
        gone = a_liquidation(wallets, backstop=True)
        await client.clock(gone["closed_ms"] - 2_000)
        rows: list[Any] = []
        catalogue = Catalogue(HYPERLIQUID)
        catalogue.learn(Row(0, "hyperliquid", "perp_dexes", "", "{}", 200, 0, 0, 1, None, "[null]"))
        stream = StreamRecorder(HYPERLIQUID, HYPERLIQUID.streams[0], client.url, catalogue, MINUTE, rows.append)
        listening = asyncio.create_task(stream.run())
        await until(lambda: stream.connected)
        connection = next(iter(client.app.ctx.sandbox.hub.connections))
        await until(lambda: connection.topics == set(LIQUIDATORS))
        await client.clock(gone["closed_ms"] + 1_000)
        await until(lambda: any(f'"tid":{tid_of(gone)}' in (row.body or "") for row in rows))
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        landed = [row._asdict() for row in rows]
        victim = wallets.owner(gone["seat"])
        asked = {"type": "userFillsByTime", "user": victim, "startTime": gone["opened_ms"]}
        own = (await client.info(asked)).json
        landed.append(response(rows[-1].tick_ms, "hyperliquid", "wallet_fills", own, key=victim))
        warehouse.build(landed, "raw_window")
        symbol, units = listings[gone["row"]].symbol, listings[gone["row"]].units
        query = (
            f"select {COLUMNS} from stg_hyperliquid__liquidation_fills where reject is null and tid = '{tid_of(gone)}'"
        )
        ((*_, side, size, price, mark, method),) = warehouse.rows(query)
        assert (side, method) == ("long" if gone["long"] else "short", "backstop")
        assert size == pytest.approx(gone["size"])
        assert price == mark == pytest.approx(wallets.mark(gone["row"], gone["closed_ms"] // MINUTE), rel=1e-3)
        assert warehouse.rows(query.replace(COLUMNS, "wallet, role, ts")) == [(victim, "victim", gone["closed_ms"])]
        assert warehouse.rows("select * from stg_hyperliquid__liquidation_fills where reject is not null") == []
        begin = gone["closed_ms"] - HOUR
        span = {"venue": "hyperliquid", "type": "perp", "symbol": symbol, "from": begin, "to": gone["closed_ms"] + 1}
        truth = (await client.get("/_sandbox/truth", **span)).json
        event = truth["liquidations"][-1]
        assert (event["ts"], event["wallet"], event["method"], event["side"]) == (
            gone["closed_ms"], victim, "backstop", side)  # fmt: skip
        assert event["usd"] == pytest.approx(size * price, rel=1e-3)
        span = span | {"to": gone["closed_ms"] - MINUTE}
        before = (await client.get("/_sandbox/truth", **span)).json["positions"]
        (held,) = [one for one in before if one["wallet"] == victim]
        assert held["liquidation_price"] * units == pytest.approx(gone["liquidation"])
        assert (held["liquidated"], held["closed_ms"]) == (True, gone["closed_ms"])


def tid_of(one: dict[str, Any]) -> int:
    return key("tid", one["seat"], one["cell"], False) % 10**15


async def test_an_address_may_follow_ten_users() -> None:
    async with sandbox(now_ms=NOW) as client, aiohttp.ClientSession() as session:
        url = client.url.replace("http", "ws") + "/api.hyperliquid.xyz/ws"
        async with session.ws_connect(url) as ws:
            for n in range(11):
                user = {"type": "userFills", "user": f"0x{n:040x}"}
                await ws.send_json({"method": "subscribe", "subscription": user})
            answers: list[dict[str, Any]] = []
            while not answers or answers[-1]["channel"] != "error":
                answers.append(await ws.receive_json(timeout=10))
            assert "10 total users" in answers[-1]["data"]
            refused = HYPERLIQUID.streams[0].refused
            assert refused is not None
            assert refused(json.dumps(answers[-1], separators=(",", ":"))) is not None
            await ws.send_json({"method": "ping"})
            assert await ws.receive_json(timeout=10) == {"channel": "pong"}
