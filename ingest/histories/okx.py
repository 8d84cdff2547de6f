"""OKX's past: candles, settlements of about three months, and the statistics of swaps in USDT."""

from typing import Any, Literal

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History
from ingest.venues.okx import API, RATIOS

NAMED: dict[str, str] = {"1h": "1H", "1d": "1Dutc"}
STATISTICS = "/api/v5/rubik/stat"


def _first(body: Body) -> list[int]:
    return [int(row[0]) for row in body["data"]]


def _bars(endpoint: str, interval: Literal["1h", "1d"], top: int, days: int) -> History:
    return History(
        endpoint,
        interval,
        API,
        "/api/v5/market/history-candles",
        "history_candles",
        # Both ends are exclusive; older documents state 100 rows, newer ones 300.
        lambda piece: {
            "instId": piece.key,
            "bar": NAMED[interval],
            "after": piece.end_ms,
            "before": piece.begin_ms - 1,
            "limit": piece.rows,
        },
        _first,
        most=100,
        order="span",
        days=days,
        top=top,
    )


def _statistic(
    endpoint: str, path: str, pool: str, top: int, interval: Literal["1h", "1d"] = "1h", **more: Any
) -> History:
    return History(
        endpoint,
        interval,
        API,
        path,
        pool,
        lambda piece: {
            "instId": piece.key,
            "period": NAMED[interval],
            "begin": piece.begin_ms - 1,
            "end": piece.end_ms,
            "limit": piece.rows,
            **more,
        },
        _first,
        most=100,
        order="span",
        # The venue has the newest 1,440 buckets of each length.
        days=30 if interval == "1h" else 400,
        like="long_short_accounts",
        top=top,
        sample=1,
    )


HISTORY = (
    _bars("perp_bars", "1d", 300, 400),
    _bars("spot_bars", "1d", 300, 400),
    History(
        "settlements",
        None,
        API,
        "/api/v5/public/funding-rate-history",
        "funding_history",
        lambda piece: {"instId": piece.key, "after": piece.end_ms, "limit": 100},
        lambda body: [int(row["fundingTime"]) for row in body["data"]],
        most=100,
        order="newest",
        days=90,
        top=300,
    ),
    _statistic("open_interest_history", f"{STATISTICS}/contracts/open-interest-history", "open_interest_history", 50),
    _statistic("long_short_accounts", f"{RATIOS}-account-ratio-contract", "accounts", 30),
    _statistic("long_short_accounts", f"{RATIOS}-account-ratio-contract", "accounts", 20, "1d"),
    _statistic("long_short_top_accounts", f"{RATIOS}-account-ratio-contract-top-trader", "top_accounts", 30),
    _statistic("long_short_top_positions", f"{RATIOS}-position-ratio-contract-top-trader", "top_positions", 30),
    _statistic("taker_ratio", f"{STATISTICS}/taker-volume-contract", "taker", 30, unit=2),
    _bars("perp_bars", "1h", 100, 90),
    _bars("spot_bars", "1h", 50, 90),
)
