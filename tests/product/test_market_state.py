"""The snapshot endpoints equal a plain recomputation from the facts, through dbt, publish and HTTP."""

import csv
import gzip
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.facts.live_facts import (
    AGES,
    AS_OF,
    COUNTED,
    DAY,
    GAP,
    HEARD,
    HOUR,
    MARKETS,
    NOW,
    RATIOS,
    Live,
    publish_warehouse,
)
from tests.support.facts.mart_facts import MINUTE, Warehouse, instrument, market, response
from tests.support.replica.replica import write_pointer
from tests.support.servers.api_server import Api, free_port, running, some_address, until

WINDOWS = {"1h": HOUR, "4h": 4 * HOUR, "12h": 12 * HOUR, "24h": DAY}
Coins = dict[str, Any]


@pytest.fixture(scope="module")
def live() -> Live:
    return Live(11)


@pytest.fixture(scope="module")
def warehouse(live: Live, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return live.warehouse(tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def api(warehouse: Warehouse) -> Iterator[Api]:
    warehouse.dbt(
        "test",
        "--select",
        "path:models/marts/live",
        "mart_markets_match_series",
        "mart_liquidations_match_series",
        "--exclude",
        "test_type:unit",
    )
    serving = warehouse.path.parent / "serving"
    publish_warehouse(warehouse.path, serving, AS_OF)
    with running(serving, free_port()) as api:
        yield api


@pytest.fixture(scope="module")
def coins(api: Api) -> Coins:
    return {coin["base"]: coin for coin in api.get("/api/markets").json["coins"]}


def close(one: Any, other: Any) -> bool:
    """Equal, numbers up to the order of summing."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(one == other)


@pytest.mark.requirement("markets:changes")
def test_entries_change_from_the_nearest_observation_not_after_the_time(live: Live, coins: Coins) -> None:
    compared = 0
    for one in MARKETS:
        name = one["market_id"]
        seen = any(live.ago(name, column)[0] is not None for column in ("price", "vol24h_usd", "funding_8h", "oi_usd"))
        kind = coins.get(one["base"], {}).get(f"{one['type']}s", [])
        entries = [entry for entry in kind if (entry["venue"], entry["symbol"]) == (one["venue"], one["symbol"])]
        assert len(entries) == seen, name
        for entry in entries:
            wanted = {f"px_{age}": live.change(name, "price", ms) for age, ms in AGES.items() if age != "2h"}
            wanted |= {f"oi_{age}": live.change(name, "oi_usd", ms) for age, ms in AGES.items() if age != "2h"}
            assert close({key: entry[key] for key in wanted}, wanted), name
            compared += sum(value is not None for value in wanted.values())
    assert compared > 100


@pytest.mark.requirement("markets:changes")
def test_a_coin_s_figures_are_those_of_its_counted_entries(live: Live, coins: Coins) -> None:
    for base, coin in coins.items():
        counted = {(one["venue"], one["symbol"]) for one in COUNTED if one["base"] == base and one["type"] == "perp"}
        perps = [entry for entry in coin["perps"] if not counted or (entry["venue"], entry["symbol"]) in counted]
        held = [entry for entry in perps if entry["oi_usd"]]
        rates = [entry["funding"] for entry in held if entry["funding"] is not None]
        assert close(coin["oi_usd"], math.fsum(entry["oi_usd"] for entry in held) if held else None), base
        assert close(coin["funding_spread"], max(rates) - min(rates) if len(rates) > 1 else None), base
        for age, ms in AGES.items():
            if age == "2h":
                continue
            pairs = [
                (entry["oi_usd"], entry["oi_usd"] / (1 + entry[f"oi_{age}"]))
                for entry in held
                if entry[f"oi_{age}"] is not None
            ]
            wanted = math.fsum(now for now, _ in pairs) / math.fsum(then for _, then in pairs) - 1 if pairs else None
            assert close(coin[f"oi_{age}"], wanted) or abs(coin[f"oi_{age}"] - wanted) < 1e-9, (base, age, ms)


@pytest.mark.requirement("markets:changes")
def test_the_markets_open_interest_is_the_series_last_bucket(live: Live, api: Api, coins: Coins) -> None:
    """Of the coins whose markets were all observed in the newest minute."""
    compared = 0
    for base, coin in coins.items():
        perps = [one["market_id"] for one in COUNTED if one["base"] == base and one["type"] == "perp"]
        if perps and all(live.ago(name, "oi_usd")[1] in (NOW, None) for name in perps) and coin["oi_usd"]:
            got = api.series("oi", base=base, range="10m", step="1m")
            assert (got["t"][-1], close(got["v"][-1], coin["oi_usd"])) == (NOW, True), base
            compared += 1
    assert compared > 3


def inside(live: Live, window: int, **wanted: Any) -> list[dict[str, Any]]:
    return [
        event for event in live.liquidations
        if event["aggregated"] and AS_OF - window < event["ts"] <= AS_OF
        and all(event[name] == value for name, value in wanted.items())
    ]  # fmt: skip


def sums(events: list[dict[str, Any]], counted: bool = True) -> dict[str, Any]:
    sides = {side: math.fsum(e["usd"] for e in events if e["side"] == side) for side in ("long", "short")}
    return {**sides, "count": len(events)} if counted else sides


@pytest.mark.requirement("liquidations:values", "liquidations:since")
def test_liquidations_are_those_of_the_windows_that_end_at_as_of(live: Live, api: Api) -> None:
    got = api.get("/api/liquidations").json
    assert got["server_ts"] == AS_OF
    assert got["since"] == GAP[1]
    assert close(got["totals"], {name: sums(inside(live, ms)) for name, ms in WINDOWS.items()})
    assert close(got["by_venue"], {venue: sums(inside(live, DAY, venue=venue)) for venue in HEARD})
    mine = {coin["base"]: coin for coin in got["coins"]}
    assert set(mine) == {one["base"] for one in COUNTED if one["venue"] in HEARD and one["type"] == "perp"}
    for base, coin in mine.items():
        wanted = {name: sums(inside(live, ms, base=base), counted=False) for name, ms in WINDOWS.items()}
        perps = [one for one in COUNTED if one["type"] == "perp" and one["base"] == base]
        heard = sum(one["venue"] in HEARD for one in perps)
        assert coin["markets"] == heard <= coin["expected"] <= len(perps)
        assert close({name: coin[name] for name in wanted}, wanted)
    totals = [coin["24h"]["long"] + coin["24h"]["short"] for coin in got["coins"]]
    assert totals == sorted(totals, reverse=True)
    day = [{name: event[name] for name in got["recent"][0]} for event in inside(live, DAY)]
    biggest = sorted(day, key=lambda e: (-e["usd"], -e["ts"], e["venue"], e["symbol"]))
    newest = sorted(day, key=lambda e: (-e["ts"], -e["usd"], e["venue"], e["symbol"]))
    assert (got["biggest"], got["recent"]) == (biggest[:20], newest[:50])


@pytest.mark.requirement("liquidations:values")
def test_the_timeline_is_the_series_of_all_coins(api: Api) -> None:
    got = api.get("/api/liquidations").json
    first = AS_OF - AS_OF % HOUR - 23 * HOUR
    assert [hour["t"] for hour in got["timeline"]] == list(range(first, AS_OF, HOUR))
    hours: dict[int, dict[str, float]] = defaultdict(lambda: {"long": 0.0, "short": 0.0})
    for coin in got["coins"]:
        found = api.series("liquidations", base=coin["base"], start=first, end=AS_OF + HOUR, step="1h")
        for t, *sides in zip(found["t"], found["long"], found["short"], strict=True):
            for side, usd in zip(("long", "short"), sides, strict=True):
                hours[t][side] += usd or 0.0
    for hour in got["timeline"]:
        if hour["long"] is None:
            assert hour["t"] not in hours
        else:
            assert close({side: hour[side] for side in ("long", "short")}, hours[hour["t"]]), hour


def reading(live: Live, name: str, kind: str) -> tuple[float, str, dict[str, Any]] | None:
    """A market's newest ratio, after what ranks it among those of its coin; None if it has none or was not seen."""
    reported = {
        row["t"]: row["long_fraction"] for row in live.ratios if (row["market_id"], row["kind"]) == (name, kind)
    }
    newest = max((t for t in reported if NOW - 2 * HOUR <= t <= NOW), default=None)
    columns = ("price", "vol24h_usd", "oi_usd", "funding_8h")
    seen = any(live.ago(name, column, age)[1] for column in columns for age in (0, HOUR, 2 * HOUR))
    if newest is None or not seen:
        return None
    ratio = {"symbol": name.split(":", 2)[2], "long": reported[newest], "ts": newest}
    for field, age in (("chg_1h", HOUR), ("chg_4h", 4 * HOUR), ("chg_24h", DAY)):
        then = [reported[t] for t in (newest - age, newest - age - 5 * MINUTE) if t in reported]
        ratio[field] = reported[newest] - then[0] if then else None
    held = live.ago(name, "oi_usd")[0]
    return -(held if held is not None else -1), ratio["symbol"], ratio


@pytest.mark.requirement("long-short:values")
def test_ratios_are_the_newest_readings_and_change_from_earlier_ones(live: Live, api: Api, coins: Coins) -> None:
    got = api.get("/api/long-short").json["coins"]
    volumes = [coins[coin["base"]]["perp_vol24h"] or -1 for coin in got]
    assert volumes == sorted(volumes, reverse=True)
    expected: dict[str, dict[str, Any]] = defaultdict(lambda: {f"{venue}_{kind}": None for venue, kind in RATIOS})
    for venue, kind in RATIOS:
        for base in coins:
            held = [one for one in MARKETS if (one["venue"], one["base"], one["type"]) == (venue, base, "perp")]
            readings = [reading(live, one["market_id"], kind) for one in held]
            if known := [one for one in readings if one]:
                expected[base][f"{venue}_{kind}"] = min(known, key=lambda one: one[:2])[2]
    assert {coin["base"]: {k: v for k, v in coin.items() if k != "base"} for coin in got} == expected
    assert {bool(coin["bybit_accounts"]) for coin in got} == {True, False}


def accelerated(live: Live) -> list[tuple[float, str, dict[str, Any], str | None]]:
    """(open interest, market, row, reason) of every contract, the most held first."""
    found: list[tuple[float, str, dict[str, Any], str | None]] = []
    for one in MARKETS:
        if one["type"] != "perp" or one["hip3"]:
            continue
        name = one["market_id"]
        anchors = [live.ago(name, "oi_base", age) for age in (2 * HOUR, HOUR, 0)]
        usd = [live.ago(name, "oi_usd", age)[0] for age in (2 * HOUR, HOUR, 0)]
        known = [value for value in reversed(usd) if value is not None]
        if not known:
            continue
        identity = {key: one[key] for key in ("venue", "symbol", "base")}
        listed = live.listed_ms[name]
        if listed and listed > NOW - 2 * HOUR:
            found.append((known[0], name, identity, "listed_recently"))
        elif not all(value for value, _ in anchors):
            found.append((known[0], name, identity, "missing_anchor"))
        else:
            before, middle, now = (value or math.nan for value, _ in anchors)
            row = {
                "previous_fraction": middle / before - 1,
                "recent_fraction": now / middle - 1,
                "acceleration_pp": 100 * (now / middle - middle / before),
                "previous_usd": None if usd[1] is None else (middle - before) * usd[1] / middle,
                "recent_usd": None if usd[2] is None else (now - middle) * usd[2] / now,
                "oi_usd": known[0],
                "anchors_ms": [ms for _, ms in anchors],
            }
            found.append((known[0], name, {**identity, **row}, None))
    return sorted(found, key=lambda row: (-row[0], row[1]))


@pytest.mark.requirement("oi-acceleration:values", "oi-acceleration:unavailable", "oi-acceleration:min-oi")
@pytest.mark.parametrize("minimum", [None, 0, 1_000_000, 10_000_000, 100_000_000])
def test_acceleration_of_the_contracts_with_the_highest_open_interest(
    live: Live, api: Api, minimum: int | None
) -> None:
    answer = api.get("/api/open-interest-acceleration" + ("" if minimum is None else f"?min_oi={minimum}"))
    got = answer.json
    least = 1_000_000 if minimum is None else minimum
    listed = [row for row in accelerated(live) if row[0] >= least][:50]
    assert close(got["rows"], [row for _, _, row, reason in listed if reason is None])
    assert got["unavailable"] == [{**row, "reason": reason} for _, _, row, reason in listed if reason]
    assert (got["schema_version"], got["minimum"], got["evaluated_at_ms"]) == (1, least, AS_OF)
    assert got["targets_ms"] == [NOW - 2 * HOUR, NOW - HOUR, NOW]
    assert got["venues"] == ["binance", "bybit", "hyperliquid", "okx"]
    assert "max-age=120" in answer.headers["cache-control"]
    if not least:
        assert len(listed) == 50
        assert {reason for _, _, _, reason in listed} == {None, "missing_anchor", "listed_recently"}


@pytest.mark.requirement("movers:values")
def test_movers_are_the_extremes_of_the_markets_list(live: Live, api: Api, coins: Coins) -> None:
    answer = api.get("/api/market-movers")
    got = answer.json
    assert (got["as_of"], list(got["sections"])) == (AS_OF, ["price", "oi", "long_short", "funding", "liquidations"])
    assert "max-age=5," in answer.headers["cache-control"]
    counted = {(one["venue"], one["symbol"], one["base"]) for one in COUNTED if one["type"] == "perp"}
    for section, field in (("price", "px_24h"), ("oi", "oi_24h"), ("funding", "funding")):
        values = []
        for base, coin in coins.items():
            # Perps are listed by open interest: the first of which the value is known stands for the coin.
            mine = [p for p in coin["perps"] if (p["venue"], p["symbol"], base) in counted and p[field] is not None]
            if mine:
                row = {"base": base, "venue": mine[0]["venue"], "symbol": mine[0]["symbol"], "value": mine[0][field]}
                values.append({**row, "coin_url": f"/api/coin/{base}"})
        shown = got["sections"][section]
        assert len(values) > 10
        assert close(shown["up"], sorted(values, key=lambda row: (-row["value"], row["base"]))[:5])
        assert close(shown["down"], sorted(values, key=lambda row: (row["value"], row["base"]))[:5])
        assert (shown["as_of"], shown["unavailable"]) == (AS_OF, None)
    ratios = [(c["base"], c["binance_accounts"]) for c in api.get("/api/long-short").json["coins"]]
    changes = sorted((r["chg_24h"], b) for b, r in ratios if r and r["chg_24h"] is not None)
    assert [(row["value"], row["base"]) for row in got["sections"]["long_short"]["down"]] == changes[:5]
    day = {c["base"]: c["24h"]["long"] + c["24h"]["short"] for c in api.get("/api/liquidations").json["coins"]}
    shown = got["sections"]["liquidations"]
    assert [row["base"] for row in shown["up"]] == sorted(day, key=lambda base: -day[base])[:5]
    assert all(close(row["value"], day[row["base"]]) for row in shown["up"])
    assert {(row["venue"], row["symbol"]) for row in shown["up"]} == {("", "")}
    assert (shown["down"], shown["unavailable"]) == (None, None)
    assert "recorded completely since" in shown["note"]


@pytest.mark.requirement("coin:values")
def test_a_coins_detail_agrees_with_the_snapshots(live: Live, api: Api, coins: Coins) -> None:
    ratios = {c.pop("base"): c for c in api.get("/api/long-short").json["coins"]}
    for base in ("A", "a", "C", "Z07", "F"):
        got = api.get(f"/api/coin/{base}").json
        coin = coins[base.upper()]
        prices = {name: got["market"].pop(name) for name in ("price", "px_1h", "px_4h", "px_24h")}
        assert got["market"] == coin
        asked = f"/api/series/price?base={base}&range=5m&step=1m&type="
        series = [api.get(asked + kind, X_Forwarded_For=some_address()).json["v"] for kind in ("perp", "spot")]
        assert prices["price"] == next((values[-1] for values in series if values), None)
        assert got["long_short"] == ratios.get(base.upper(), {f"{venue}_{kind}": None for venue, kind in RATIOS})
        alerts = [(one["ts"], one["venue"], one["symbol"], one["kind"], one["dir"]) for one in got["alerts"]]
        spikes = [(10, "bybit", "sell"), (30, "binance", "buy")] if base in "Aa" else []
        assert alerts == [(NOW - age * MINUTE, venue, "AUSDT", "volume", side) for age, venue, side in spikes]
        assert all(one["sig"] > 6 and 0 <= one["id"] < 2**53 for one in got["alerts"])
        assert (got["hits24h"], got["server_ts"]) == (len(spikes), AS_OF)
        reported = got["liquidations"]
        assert reported["since"] == GAP[1]
        if base.upper() in "ABCDE":
            assert close(
                reported["totals"], {n: sums(inside(live, ms, base=base.upper())) for n, ms in WINDOWS.items()}
            )
            assert set(reported["by_venue"]) == {e["venue"] for e in inside(live, DAY, base=base.upper())}
            both = {
                window: {side: reported["totals"][window][side] for side in ("long", "short")} for window in WINDOWS
            }
            covered = {name: reported[name] for name in ("markets", "expected")}
            assert reported["coins"] == [{"base": base.upper(), **covered, **both}]
            day = [
                {name: event[name] for name in reported["recent"][0]} for event in inside(live, DAY, base=base.upper())
            ]
            assert len(day) > 50
            assert reported["biggest"] == sorted(day, key=lambda e: (-e["usd"], -e["ts"], e["venue"], e["symbol"]))[:20]
            assert reported["recent"] == sorted(day, key=lambda e: (-e["ts"], -e["usd"], e["venue"], e["symbol"]))[:50]
        else:  # no venue of it is listened to: unknown, not nothing
            assert reported["totals"] == {name: {"long": None, "short": None, "count": None} for name in WINDOWS}
            assert (reported["by_venue"], reported["coins"], reported["biggest"], reported["recent"]) == (
                {},
                [],
                [],
                [],
            )
    assert api.get("/api/coin/d%3AY").json["market"]["hip3"] is True


@pytest.mark.requirement("coin:net-flow")
def test_net_flow_is_the_taker_flow_of_24_hours(tmp_path: Path) -> None:
    perp, spot = market("binance:perp:AUSDT", "A"), market("binance:spot:AUSDT", "A")
    quiet = market("okx:perp:BUSDT", "B")
    warehouse = Warehouse(tmp_path)
    warehouse.add("instruments", [instrument(one) for one in (perp, spot, quiet)])
    seen = {"price": 1.0, "vol24h_usd": 1.0}
    warehouse.add("int_market_minutes", [{"minute_ms": NOW, **one, **seen} for one in (perp, spot, quiet)])
    warehouse.add("int_response_minutes", [response(NOW, "binance", "perp_tickers")])
    bars = [(perp, NOW - MINUTE, 5.0, 3.0), (perp, NOW - DAY, 7.0, 1.0), (perp, NOW - DAY - MINUTE, 100.0, 0.0)]
    warehouse.add(
        "int_market_bars",
        [
            {
                "minute_ms": ms,
                "tick_ms": NOW,
                **one,
                "volume_usd": buy + sell,
                "taker_buy_usd": buy,
                "taker_sell_usd": sell,
            }
            for one, ms, buy, sell in [*bars, (spot, NOW - MINUTE, 50.0, 0.0)]
        ],
    )
    warehouse.build([NOW])
    publish_warehouse(warehouse.path, tmp_path / "serving", NOW + 5_000)
    with running(tmp_path / "serving", free_port()) as api:
        assert api.get("/api/coin/A").json["net_flow24h"] == (5 - 3) + (7 - 1)
        got = api.get("/api/coin/B").json
        assert got["net_flow24h"] is None
        # Nothing was ever listened to: every figure of it is unknown, and the movers say so.
        assert got["liquidations"]["totals"]["1h"] == {"long": None, "short": None, "count": None}
        whole = api.get("/api/liquidations").json
        assert whole["totals"]["24h"] == {"long": None, "short": None, "count": None}
        assert (whole["coins"], whole["by_venue"], whole["biggest"], len(whole["timeline"])) == ([], {}, [], 24)
        sections = api.get("/api/market-movers").json["sections"]
        assert all(section["unavailable"] and not section["up"] for section in sections.values())
        assert all(section["down"] is None for section in sections.values())
        assert sections["long_short"]["as_of"] is None
        assert api.get("/api/long-short").json["coins"] == []
        empty = api.get("/api/open-interest-acceleration?min_oi=0").json
        assert (empty["rows"], empty["unavailable"], empty["targets_ms"][2]) == ([], [], NOW)


@pytest.mark.requirement("overlay:values", "overlay:states")
@pytest.mark.parametrize(
    ("metric", "range", "step"), [("price", "7d", "1h"), ("oi", "30d", "1h"), ("price", "90d", "4h")]
)
def test_an_overlay_is_the_series_rebased(api: Api, metric: str, range: str, step: str) -> None:
    answer = api.get(f"/api/coins/overlay?c=b,A,a,D&m={metric}&range={range}")
    got = answer.json
    assert f"max-age={300 if step == '4h' else 60}," in answer.headers["cache-control"]
    assert (got["bases"], got["fields"], got["state"]) == (["A", "B", "D"], ["A", "B", "D"], "ok")
    assert got["sources"] == {base: {"state": "ok", "source": f"series_{step}@e1"} for base in "ABD"}
    series = {}
    for base in "ABD":
        found = api.series(metric, base=base, start=got["start"], end=got["end"], step=step)
        assert found["step"] == got["step"]
        series[base] = {t: v for t, v in zip(found["t"], found["v"], strict=True) if v}
    common = sorted(set.intersection(*map(set, series.values())))
    times = sorted(t for t in set().union(*series.values()) if t >= common[0])
    assert got["t"] == times
    for base, values in series.items():
        wanted = [math.floor(100 * values[t] / values[common[0]] + 0.5) if t in values else None for t in times]
        assert got[got["field_map"][base]] == wanted
        assert all(value is None or isinstance(value, int) for value in got[base])
        assert got[base][0] == 100
    assert {gap["venue"] for gap in got["gaps"]["A"]} <= {None, "binance", "bybit", "okx", "hyperliquid"}


@pytest.mark.requirement("overlay:states", "overlay:input")
def test_an_overlay_without_a_common_bucket_says_so(api: Api) -> None:
    got = api.get("/api/coins/overlay?c=A,F&m=oi").json  # F has spot markets alone
    assert (got["state"], got["t"], got["A"], got["F"]) == ("insufficient", [], [], [])
    assert {base: source["state"] for base, source in got["sources"].items()} == {"A": "ok", "F": "insufficient"}
    for wrong in ("A", "A,a", "A,,B", "A,NOPE", "A,d:Y", "A,B,C,D,E,Z01", "A," + "B" * 255, ""):
        answer = api.get(f"/api/coins/overlay?c={wrong}")
        assert (answer.status, answer.error[:2]) == (400, "c:"), wrong
    assert api.get("/api/coins/overlay").status == api.get("/api/coins/overlay?c=A,B&range=1d").status == 400


@pytest.mark.requirement("coin:unknown", "oi-acceleration:min-oi", "snapshots:budget")
def test_bad_parameters_are_named_in_the_error(api: Api) -> None:
    answer = api.get("/api/coin/NOPE")
    assert (answer.status, answer.json) == (404, {"error": "unknown coin"})
    assert api.get("/api/coin/Z01?x=1").status == 400
    assert "min_oi" in api.get("/api/open-interest-acceleration?min_oi=5").error
    for path in ("/api/market-movers", "/api/coins/overlay?c=A,B"):
        assert api.get(path).headers["x-ratelimit-limit"] == "30"
    for path in ("/api/coin/A", "/api/liquidations", "/api/long-short", "/api/open-interest-acceleration"):
        answer = api.get(path)
        assert answer.headers["x-ratelimit-limit"] == "120"
        assert api.get(path, If_None_Match=answer.headers["etag"]).status == 304


@pytest.mark.requirement("snapshots:unavailable", "movers:always", "overlay:states")
def test_without_a_readable_replica(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    serving.mkdir()
    with running(serving, free_port()) as api:
        for state in ("loading", "unavailable"):
            for path in ("coin/A", "liquidations", "long-short", "open-interest-acceleration"):
                answer = api.get(f"/api/{path}")
                assert (answer.status, answer.json["state"]) == (503, state)
                assert int(answer.headers["retry-after"]) > 0
            answer = api.get("/api/market-movers")
            assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
            assert all(part["unavailable"] for part in answer.json["sections"].values())
            answer = api.get("/api/coins/overlay?c=B,a")
            assert "max-age=30," in answer.headers["cache-control"]
            got = answer.json
            assert (got["state"], got["t"], got["A"], got["gaps"]) == ("unavailable", [], [], None)
            assert {source["db"] for source in got["sources"].values()} == {False}
            write_pointer(serving, "{")
            until(lambda: api.get("/api/markets").json["state"], lambda now: now == "unavailable")


@pytest.mark.requirement("oi-acceleration:values")
def test_acceleration_of_real_open_interest(tmp_path: Path, recordings: Path) -> None:
    """Moments of half a year of recorded 5-minute open interest, each as a market of its own at one common time."""
    wanted, markets = {}, []
    warehouse = Warehouse(tmp_path)
    minutes = []
    for coin in ("BTC", "ETH"):
        with gzip.open(recordings / f"history/binance_{coin}_oi_5m_202512-202606.csv.gz", "rt") as file:
            reported = [(row["oi"], row["oi_usd"]) for row in csv.DictReader(file)]
        for number, start in enumerate(range(0, len(reported) - 25, len(reported) // 20)):
            one = market(f"binance:perp:{coin}{number:02}", f"{coin}{number:02}")
            markets.append(one)
            before, middle, now = (tuple(map(float, reported[start + back])) for back in (0, 12, 24))
            for age, (base, usd) in zip((2 * HOUR, HOUR, 0), (before, middle, now), strict=True):
                minutes.append({"minute_ms": NOW - age, **one, "oi_base": base, "oi_usd": usd})
            pace = 100 * (now[0] / middle[0] - 1) - 100 * (middle[0] / before[0] - 1)
            wanted[one["symbol"]] = pytest.approx(pace, abs=1e-9)
    warehouse.add("instruments", [instrument(one) for one in markets])
    warehouse.add("int_market_minutes", minutes)
    warehouse.add(
        "int_response_minutes", [response(NOW - age, "binance", "perp_tickers") for age in (2 * HOUR, HOUR, 0)]
    )
    warehouse.build([NOW - 2 * HOUR, NOW - HOUR, NOW])
    found = dict(warehouse.rows("select symbol, acceleration_pp from oi_acceleration where reason is null"))
    assert len(wanted) > 30
    assert found == wanted
