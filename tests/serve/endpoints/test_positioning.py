"""The series of positioning and of order books over HTTP: kinds, venues, ranges, steps, gaps."""

from typing import Any

import pytest

from tests.support.replica.replica import CATALOG, DAY, LAST, MINUTE
from tests.support.servers.api_server import Api

KINDS = ("accounts", "top_acct", "top_pos", "taker_buy")
OF_RATIOS = ("long-short", "net-positioning", "top-vs-crowd", "whale-vs-retail")
OF_BOOKS = ("ob-depth", "bid-ask-ratio")
DOWN = {"start": LAST - 100 * MINUTE, "end": LAST - 89 * MINUTE, "venue": None, "reason": "recorder_down"}


def bad(api: Api, query: str, *named: str) -> None:
    answer = api.get(f"/api/series/{query}")
    assert answer.status == 400, answer
    for name in named:
        assert name in answer.error, answer.error


def rows(got: dict[str, Any], field: str = "v") -> dict[int, Any]:
    return dict(zip(got["t"], got[field], strict=True))


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
    asked = {"base": "BTC", "range": "60d", "step": "1h", "kind": kind}
    binance = rows(api.series("long-short", **asked, venue="binance"))
    bybit = rows(api.series("long-short", **asked, venue="bybit")) if kind == "accounts" else {}
    got = api.series("long-short", **asked)
    assert got["source"] == "series_1h@e1842 (binance, bybit)"
    assert api.series("long-short", **asked, venue="binance")["source"] == "series_1h@e1842"
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


@pytest.mark.requirement("series:ratios:step", "series:step:raised", "series:type:fixed")
@pytest.mark.parametrize("metric", [*OF_RATIOS, *OF_BOOKS])
def test_no_step_is_finer_than_what_venues_publish(api: Api, metric: str) -> None:
    for step in ("1m", "5m", "auto"):
        got = api.series(metric, base="BTC", range="1h", step=step)
        assert (got["step"], got["source"].partition("@")[0]) == (5 * MINUTE, "series_5m")
    assert [api.series(metric, base="BTC", range="3d", step=step)["step"] for step in ("15m", "1h", "4h", "1d")] == [
        15 * MINUTE,
        60 * MINUTE,
        240 * MINUTE,
        DAY,
    ]
    bad(api, f"{metric}?base=BTC&type=perp", "type", "leave it out")
    assert api.series(metric, base="btc")["type"] == "perp"


@pytest.mark.requirement("series:ratios:long", "series:range:cap")
def test_how_far_they_reach(api: Api) -> None:
    for metric in ("long-short", "net-positioning"):
        got = api.series(metric, base="BTC", range="3650d")
        assert got["step"] == 3 * DAY
        assert 900 < len(got["t"]) < 1500
        bad(api, f"{metric}?base=BTC&range=3651d", "at most 3650d")
    for metric in ("top-vs-crowd", "whale-vs-retail", *OF_BOOKS):
        assert api.series(metric, base="BTC", range="730d")["step"] == DAY
        bad(api, f"{metric}?base=BTC&range=731d", "730d", "3650d with an API key")


@pytest.mark.requirement("series:ratios:gaps", "series:gaps", "series:gaps:venue")
def test_gaps_are_those_of_the_kind_and_of_the_venues_that_count(api: Api) -> None:
    def gap(start: int, end: int, venue: str, reason: str) -> dict[str, Any]:
        return {"start": LAST - start * MINUTE, "end": LAST - end * MINUTE, "venue": venue, "reason": reason}

    okx, bybit = gap(400, 395, "okx", "venue_error"), gap(390, 385, "bybit", "venue_error")
    tops, books = gap(380, 375, "binance", "partial"), gap(370, 368, "bybit", "venue_unreachable")
    tickers = gap(300, 290, "binance", "venue_unreachable")
    assert api.series("long-short", base="BTC")["gaps"] == [bybit, DOWN]
    assert api.series("long-short", base="BTC", venue="okx")["gaps"] == [okx, DOWN]
    assert api.series("long-short", base="BTC", venue="binance")["gaps"] == [DOWN]
    assert api.series("long-short", base="BTC", kind="top_acct")["gaps"] == [tops, DOWN]
    assert api.series("long-short", base="BTC", kind="taker_buy")["gaps"] == [DOWN]
    assert api.series("top-vs-crowd", base="BTC")["gaps"] == [tops, DOWN]
    assert api.series("whale-vs-retail", base="BTC")["gaps"] == [DOWN]
    assert api.series("net-positioning", base="BTC")["gaps"] == [okx, bybit, tickers, DOWN]
    assert api.series("net-positioning", market="bybit:perp:BTCUSDT")["gaps"] == [bybit, DOWN]
    for metric in OF_BOOKS:
        assert api.series(metric, base="BTC")["gaps"] == [books, DOWN]
        assert api.series(metric, base="BTC", venue="binance")["gaps"] == [DOWN]


@pytest.mark.requirement("openapi:complete")
def test_the_description_is_generated_from_the_definitions(api: Api) -> None:
    text = api.get("/openapi.json").json["info"]["description"]
    for metric in (*OF_RATIOS, *OF_BOOKS):
        fields, unit = ", ".join(CATALOG[metric]["fields"]), CATALOG[metric]["unit"]
        assert f"- `{metric}` ({fields}; {unit}): {CATALOG[metric]['description']}" in text
