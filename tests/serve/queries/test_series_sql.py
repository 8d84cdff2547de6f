"""The SQL of a series: values of markets and coins, of ratios and order books, against the rows of the replica."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, CATALOG, MARKETS, TIERS, build_replica, publish
from tests.support.replica.replica_server import EDITION
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.series_calls import KINDS, OF_BOOKS, OF_RATIOS, bad, rows

# Metrics that are columns of the tiers as they are; the others are in tests/product/test_formulas.py.
PLAIN = {
    name
    for name, definition in CATALOG.items()
    if "base" in definition["selectors"] and all("column" in field for field in definition["fields"].values())
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same rows, read past the server."""
    path = tmp_path_factory.mktemp("facts") / "same.duckdb"
    build_replica(path, 1842)
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


@pytest.mark.requirement("series:values")
def test_coins_with_the_same_base_key_are_not_mixed(api: Api, tmp_path: Path) -> None:
    """A replica finds coins by a hash of their names; two coins with the same hash still get their own rows."""
    path = publish(tmp_path / "serving", EDITION)
    with duckdb.connect(str(path)) as con:
        for (table,) in con.execute(
            "select table_name from duckdb_columns() where column_name = 'base_key' and not internal"
        ).fetchall():
            con.execute(f"update {table} set base_key = 7 where base in ('BTC', 'ETH')")
        assert con.execute("select count(*) from base_keys where base_key = 7").fetchall() == [(2,)]
    with running(tmp_path / "serving", free_port()) as same_number:
        for asked in (
            "/api/series/oi?base=BTC", "/api/series/oi?base=ETH", "/api/series/oi?base=BTC&venue=binance",
            "/api/series/volume?base=ETH&step=1h&range=30d", "/api/coins/overlay?c=BTC,ETH", "/api/coin/BTC",
        ):  # fmt: skip
            expected, got = api.get(asked), same_number.get(asked)
            assert (got.status, got.body) == (200, expected.body), asked


@pytest.mark.requirement("series:values")
@pytest.mark.parametrize("step", [tier[0] for tier in TIERS if tier[0] != "3d"])
def test_a_markets_values_are_those_of_the_facts(api: Api, step: str) -> None:
    """By the formula of the replica, computed here."""
    ms = next(width for name, width, *_ in TIERS if name == step)
    start = AS_OF_MS - 100 * ms
    got = api.series("price", market="bybit:perp:BTCUSDT", start=start, end=AS_OF_MS, step=step)
    i, level = 3, MARKETS[3][-1]
    times = [t for t in range(start // ms * ms, AS_OF_MS, ms) if t // ms % 53 and (t // ms + i) % 41]
    assert got["step"] == ms
    assert got["t"] == times
    assert got["v"] == pytest.approx([level * (1 + math.sin(t / 1e8 + i) / 20) for t in times], rel=1e-12)
    assert (got["base"], got["market"], got["venue"], got["type"]) == (None, "bybit:perp:BTCUSDT", "bybit", "perp")


@pytest.mark.requirement("series:values", "series:type", "series:venue", "series:two-fields")
@pytest.mark.parametrize("metric", sorted(PLAIN))
@pytest.mark.parametrize("venue", [None, "binance"])
@pytest.mark.parametrize("kind", [None, "perp", "spot", "all"])
def test_a_coins_values_are_those_of_its_row(
    api: Api, facts: duckdb.DuckDBPyConnection, metric: str, venue: str | None, kind: str | None
) -> None:
    definition = CATALOG[metric]
    if kind and kind not in definition["types"]:
        bad(api, f"{metric}?base=BTC&type={kind}", "type", kind, "perp")
        return
    asked: dict[str, Any] = {"base": "BTC", "range": "20h", "step": "1h"}
    asked |= {name: text for name, text in (("venue", venue), ("type", kind)) if text}
    got = api.series(metric, **asked)
    columns = [field["column"] for field in definition["fields"].values()]
    rows = facts.execute(
        f"select t, {', '.join(columns)} from series_{'venue' if venue else 'base'}_1h where base = 'BTC' and type = ?"
        f"{' and venue = ?' if venue else ''}"
        f" and t >= ? and t < ? and ({' or '.join(f'{column} is not null' for column in columns)}) order by t",
        [kind or "perp", *([venue] if venue else []), got["start"], AS_OF_MS],
    ).fetchall()
    assert len(rows) > 10
    assert got["fields"] == list(definition["fields"])
    assert [tuple(row) for row in zip(got["t"], *(got[name] for name in got["fields"]), strict=True)] == rows
    assert (got["venue"], got["type"]) == (venue, kind or "perp")


@pytest.mark.requirement("series:kind:each")
def test_long_short_has_four_kinds(api: Api) -> None:
    asked = {"market": "binance:perp:BTCUSDT", "range": "12h", "step": "5m"}
    found = {kind: api.series("long-short", **asked, kind=kind) for kind in KINDS}
    assert api.series("long-short-ratio", **asked) == found["accounts"]
    assert [found[kind]["kind"] for kind in KINDS] == list(KINDS)
    assert len({tuple(got["v"][:20]) for got in found.values()}) == 4
    assert all(0 <= v <= 1 for got in found.values() for v in got["v"])
    bad(api, "long-short?base=BTC&kind=whales", "kind", "'whales'", *KINDS)
    for metric in (*OF_RATIOS[1:], *OF_BOOKS, "price"):
        bad(api, f"{metric}?base=BTC&kind=accounts", "kind", "long-short")


@pytest.mark.requirement("series:ratios:venues", "series:source", "series:csv")
@pytest.mark.parametrize("kind", KINDS)
def test_a_coins_long_short_is_the_mean_of_binance_and_bybit_where_present(api: Api, kind: str) -> None:
    alone: dict[str, Any] = {"range": "60d", "step": "1h", "kind": kind}
    asked = {"base": "BTC", **alone}
    binance = rows(api.series("long-short", **asked, venue="binance"))
    bybit = rows(api.series("long-short", **asked, venue="bybit")) if kind == "accounts" else {}
    got = api.series("long-short", **asked)
    assert got["source"] == "series_1h@e1842 (binance, bybit)"
    assert api.series("long-short", **asked, venue="binance")["source"] == "series_1h@e1842"
    assert api.series("long-short", **alone, market="binance:perp:BTCUSDT")["source"] == "series_1h@e1842"
    assert got["t"] == sorted({*binance, *bybit})
    for t, v in rows(got).items():
        known = [share for found in (binance, bybit) if (share := found.get(t)) is not None]
        assert v == pytest.approx(sum(known) / len(known))
    both, one = {*binance} & {*bybit}, {*binance} ^ {*bybit}
    assert one
    assert both or kind != "accounts"
    sheet = api.get("/api/series/long-short?" + "&".join(f"{k}={v}" for k, v in asked.items()) + "&format=csv")
    assert sheet.body.decode().splitlines()[0].endswith(f"(long-short BTC perp {kind} binance, bybit, fraction)")


@pytest.mark.requirement("series:ratios:venues", "series:values")
def test_net_positioning_sums_open_interest_by_share(api: Api) -> None:
    asked: dict[str, Any] = {"range": "20h", "step": "1h"}
    whole = api.series("net-positioning", base="BTC", **asked)
    assert whole["source"] == "series_1h@e1842 (binance, bybit, okx, gate, bitget)"
    markets = ["binance:perp:BTCUSDT", "binance:perp:BTCUSDC", "bybit:perp:BTCUSDT"]
    parts = [api.series("net-positioning", market=name, **asked) for name in markets]
    for field in whole["fields"]:
        for t, value in rows(whole, field).items():
            known = [row[t] for part in parts if t in (row := rows(part, field))]
            assert value == pytest.approx(sum(known))
    for name, part in zip(markets, parts, strict=True):
        share = rows(api.series("long-short", market=name, **asked))
        held = rows(api.series("oi", market=name, **asked))
        assert part["t"] == sorted({*share} & {*held})
        for t, long, short, v in zip(part["t"], part["long"], part["short"], part["v"], strict=True):
            assert (long, short) == pytest.approx((held[t] * share[t], held[t] * (1 - share[t])))
            assert v == pytest.approx(long - short)


@pytest.mark.requirement("series:top:venues", "series:venue:never")
@pytest.mark.parametrize(
    ("metric", "kind", "top", "crowd"),
    [("top-vs-crowd", "top_acct", "top", "crowd"), ("whale-vs-retail", "top_pos", "whale", "retail")],
)
def test_top_traders_are_binances(api: Api, metric: str, kind: str, top: str, crowd: str) -> None:
    asked: dict[str, Any] = {"base": "BTC", "range": "60d", "step": "1h"}
    got = api.series(metric, **asked)
    assert got["fields"] == ["v", top, crowd]
    assert got["source"].endswith("@e1842 (binance)")
    alone = api.series(metric, **asked, venue="binance")
    assert [alone[name] for name in ("t", *got["fields"])] == [got[name] for name in ("t", *got["fields"])]
    high = rows(api.series("long-short", **asked, venue="binance", kind=kind))
    low = rows(api.series("long-short", **asked, venue="binance"))
    assert got["t"] == sorted({*high, *low})
    for t, v, one, other in zip(got["t"], got["v"], got[top], got[crowd], strict=True):
        assert (one, other) == (high.get(t), low.get(t))
        assert v == (None if one is None or other is None else pytest.approx(one - other))
    assert None in got["v"]
    bad(api, f"{metric}?base=BTC&venue=bybit", "venue", "'bybit'", f"{metric} is recorded on binance")
    bad(api, f"{metric}?market=bybit:perp:BTCUSDT", "'bybit:perp:BTCUSDT'", "binance")
    bad(api, f"long-short?base=BTC&venue=bybit&kind={kind}", f"long-short {kind} is recorded on binance")
    bad(api, f"long-short?base=BTC&venue=hyperliquid&kind={kind}", "'hyperliquid'", "binance")


@pytest.mark.requirement("series:books:base", "series:books:sum", "series:venue:never")
def test_order_books_are_summed_and_take_a_base_alone(api: Api) -> None:
    asked: dict[str, Any] = {"base": "BTC", "range": "2d", "step": "15m"}
    depth = api.series("ob-depth", **asked)
    assert (depth["fields"], depth["source"]) == (["bid", "ask"], "series_15m@e1842 (binance, bybit)")
    for side in depth["fields"]:
        parts = [rows(api.series("ob-depth", **asked, venue=venue), side) for venue in ("binance", "bybit")]
        assert rows(depth, side) == {t: sum(part[t] or 0 for part in parts if t in part) for t in depth["t"]}
    ratio = api.series("bid-ask-ratio", **asked)
    assert ratio["fields"] == ["v", "bid", "ask"]
    assert (ratio["t"], ratio["bid"], ratio["ask"]) == (depth["t"], depth["bid"], depth["ask"])
    assert ratio["v"] == pytest.approx([bid / ask for bid, ask in zip(depth["bid"], depth["ask"], strict=True)])
    for metric in OF_BOOKS:
        bad(api, f"{metric}?market=binance:perp:BTCUSDT", "market", "base only")
        bad(api, f"{metric}?base=BTC&venue=okx", "venue", "'okx'", "binance, bybit")
        assert api.series(metric, base="PEPE")["t"] == []
