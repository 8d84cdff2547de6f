"""Minutes of markets with prices and turnovers, put before the model `int_identity`."""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from tests.support.pipeline.warehouse import MINUTE, Warehouse

T0 = 1_750_032_000_000  # 2025-06-16 00:00 UTC
A, B, C = "binance:spot:NEWUSDT", "gate:spot:NEW_USDT", "mexc:spot:NEWUSDT"
# A market's price and turnover of 24 hours in a minute; without it, the market is not observed.
Prices = Callable[[int], dict[str, tuple[float, float]]]


def listed(market_id: str, **changes: Any) -> dict[str, Any]:
    venue, kind, symbol = market_id.split(":")
    own = {"market_id": market_id, "venue": venue, "type": kind, "symbol": symbol, "named_base": "NEW"}
    known = {"quote": "USDT", "multiplier": 1.0, "usd_like": True, "left_out": None, "relisted_ms": None}
    return own | known | changes


def judge(warehouse: Warehouse, minutes: Iterable[int], prices: Prices, *markets: dict[str, Any]) -> None:
    """Build the model for one window; the window is then finished, as the pipeline notes it."""
    minutes = list(minutes)
    named = {one["market_id"]: one for one in markets or [listed(A), listed(B), listed(C)]}
    state = [
        {"tick_ms": T0 + n * MINUTE, "received_ms": T0 + n * MINUTE + 1200, "kind": "spot_tickers", "last_price": price,
         "vol24h_quote": turnover, **{key: named[market][key] for key in ("venue", "type", "symbol")}}
        for n in minutes for market, (price, turnover) in prices(n).items()
    ]  # fmt: skip
    instants = [T0 + n * MINUTE for n in minutes]
    with warehouse.connect() as db:
        db.execute("begin; delete from staged_market_state; delete from int_listed_markets")
        db.register("state", pa.Table.from_pylist(state))
        db.register("named", pa.Table.from_pylist(list(named.values())))
        db.execute(
            "insert into staged_market_state by name from state; insert into int_listed_markets by name from named"
        )
        db.execute(
            "delete from pipeline.window_minutes; insert into pipeline.window_minutes (tick_ms) select unnest(?)",
            [instants],
        )
        db.execute("commit")
    warehouse.dbt("run", "--select", "int_identity")
    with warehouse.connect() as db:
        db.execute("insert into pipeline.loads values ('1', 'f', ?, ?, 1, 1)", [instants[0], instants[-1]])
        db.execute("insert into pipeline.builds (build_id, finished_ms) values (1, ?)", [instants[-1] + MINUTE])
