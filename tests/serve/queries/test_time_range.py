"""Ranges and steps of series: units, caps, alignment, and the tier that satisfies a request."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.replica.replica import AS_OF_MS, DAY, LAST, MINUTE, TIERS
from tests.support.servers.api_server import Api
from tests.support.servers.series_calls import HOUR, OF_BOOKS, OF_RATIOS, UNITS, bad


@pytest.mark.requirement("series:range:units")
@pytest.mark.parametrize("text", ["90m", "6h", "30d", "12w", "1y"])
def test_range_units(api: Api, text: str) -> None:
    got = api.series("price", base="BTC", range=text)
    length = int(text[:-1]) * UNITS[text[-1]]
    assert got["start"] == (AS_OF_MS - length) // got["step"] * got["step"]


@pytest.mark.requirement("series:range:cap", "series:range:long")
def test_the_longest_ranges(api: Api) -> None:
    bad(api, "price?base=BTC&range=731d", "range", "730d", "3650d with an API key")
    bad(api, f"price?base=BTC&start=0&end={AS_OF_MS}", "range", "730d")
    bad(api, "funding?base=BTC&range=3651d", "at most 3650d")
    bad(api, "price?base=BTC&range=105w", "105w is too long", "730d")
    # Although most of it lies ahead.
    bad(api, f"price?base=BTC&start={LAST - HOUR}&range=3y", "3y is too long")
    assert api.series("price", base="BTC", range="730d")["step"] == DAY
    got = api.series("funding", base="BTC", range="10y")
    assert got["step"] == 3 * DAY
    assert 900 < len(got["t"]) < 1500


@pytest.mark.requirement(
    "series:start:alone", "series:start:range", "series:start:end", "series:start:after-end", "series:end:exclusive"
)
def test_start_and_end(api: Api) -> None:
    start = LAST - 10 * HOUR
    bad(api, f"price?base=BTC&start={start}", "start", "end or range")
    bad(api, f"price?base=BTC&start={start}&end={start}", "end", "after start")
    bad(api, f"price?base=BTC&start={start}&end={start - 1}", "end", "after start")
    ranged = api.series("price", base="BTC", start=start, range="2h")
    assert (ranged["start"], ranged["end"]) == (start, start + 2 * HOUR)
    assert api.series("price", base="BTC", start=start, range="20h")["end"] == AS_OF_MS
    both = api.series("price", base="BTC", start=start, end=start + HOUR, range="900d")
    assert (both["start"], both["end"]) == (start, start + HOUR)
    assert both["t"][-1] == start + HOUR - MINUTE
    ended = api.series("price", base="BTC", end=start, range="1h")
    assert (ended["start"], ended["end"]) == (start - HOUR, start)


@pytest.mark.requirement("series:step:raised", "series:step:kept", "series:step:coarse", "series:step:strict")
def test_steps(api: Api) -> None:
    assert api.series("price", base="BTC", range="30d", step="1m")["step"] == HOUR
    assert api.series("price", base="BTC", range="6h", step="1m")["step"] == MINUTE
    old = AS_OF_MS - 8 * DAY
    assert api.series("price", base="BTC", start=old, range="6h", step="1m")["step"] == 5 * MINUTE
    edge = LAST - 2 * DAY
    assert api.series("price", base="BTC", start=edge, end=edge + 1499 * MINUTE)["step"] == MINUTE
    assert api.series("price", base="BTC", start=edge, end=edge + 1500 * MINUTE)["step"] == 5 * MINUTE
    assert api.series("price", base="BTC", start=edge + 1, end=edge + 1499 * MINUTE + 1)["step"] == 5 * MINUTE
    day = AS_OF_MS // DAY * DAY
    one = api.series("oi", base="BTC", start=day + HOUR, end=day + 2 * HOUR, step="1d")
    assert (one["start"], one["t"], one["step"]) == (day, [day], DAY)


durations = st.tuples(st.integers(1, 800), st.sampled_from("mhdw")).filter(lambda d: d[0] * UNITS[d[1]] <= 730 * DAY)
times = st.integers(AS_OF_MS - 700 * DAY, AS_OF_MS)


@pytest.mark.requirement("series:step:auto", "series:step:raised", "series:step:kept", "series:aligned")
@settings(max_examples=150, deadline=None)
@given(step=st.sampled_from(["auto", "1m", "5m", "15m", "1h", "4h", "1d"]), length=durations, start=st.none() | times)
def test_any_range_and_step(api: Api, step: str, length: tuple[int, str], start: int | None) -> None:
    """Against an independent reckoning: which bucket numbers the range touches, tier by tier."""
    asked: dict[str, Any] = {"market": "bybit:perp:BTCUSDT", "range": f"{length[0]}{length[1]}", "step": step}
    ms = length[0] * UNITS[length[1]]
    first, end = AS_OF_MS - ms, AS_OF_MS
    if start is not None:
        asked["start"], first, end = start, start, min(start + ms, AS_OF_MS)
    got = api.series("price", **asked)
    finest = next((width for name, width, *_ in TIERS if name == step), 0)
    fitting = []
    for _, width, _, keep_days in TIERS:
        buckets = range(first // width, -(-end // width))
        if width >= finest and len(buckets) < 1500:
            fitting.append((width, keep_days is None or AS_OF_MS - first <= keep_days * DAY))
    width = next((choice for choice in fitting if choice[1]), fitting[-1])[0]

    def held(width: int) -> list[int]:
        oldest = (AS_OF_MS - next(days for _, own, days, _ in TIERS if own == width) * DAY) // width
        return [n for n in range(first // width, -(-end // width)) if n >= oldest and n % 53 and (n + 3) % 41]

    def share(width: int) -> float:
        return len(held(width)) / len(range(first // width, -(-end // width)))

    if step == "auto" and first < AS_OF_MS - 3 * DAY:  # before the recording
        for _, coarser, *_ in TIERS:
            if width < coarser <= (end - first) // 8 and share(width) <= 0.75 and share(coarser) >= share(width) + 0.25:
                width = coarser
    assert got["step"] == width
    assert (got["start"], got["end"]) == (first // width * width, end)
    assert [t // width for t in got["t"]] == held(width)


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
