"""What a build restates besides its own minutes."""

from pathlib import Path

from tests.support.facts.mart_facts import Warehouse

HOUR = 3_600_000
AT_MS = 1_750_150_800_000 - 1_750_150_800_000 % (24 * HOUR) + 8 * HOUR
MARKET = {"market_id": "v:perp:BTCUSDT", "venue": "v", "symbol": "BTCUSDT", "base": "BTC"}


def test_a_settlement_restates_the_hours_of_its_interval_that_were_not_recorded(tmp_path: Path) -> None:
    """Of eight hours two have observed rates, which stay; two have what was fetched before, and four nothing."""
    warehouse = Warehouse(tmp_path, built=True)
    row = {**MARKET, "settled_ms": AT_MS, "interval_h": 8.0, "funding_rate": 0.0001, "funding_8h": 0.0001}
    warehouse.add("int_settlements", [{**row, "source": "recorded", "tick_ms": AT_MS + HOUR // 60}])
    sources = ["recorded", "mixed", "backfilled", "backfilled"]
    hours = [
        {**MARKET, "type": "perp", "t": AT_MS - ago * HOUR, "source": source, "hip3": False, "aggregated": True,
         "candle_n": 0, "funding_n": 60, "volume_n": 0, "liq_n": 0}
        for ago, source in enumerate(sources, start=1)
    ]  # fmt: skip
    warehouse.add("series_market_1h", [*hours, {**hours[0], "market_id": "v:perp:OTHER", "t": AT_MS - 5 * HOUR}])
    warehouse.build([AT_MS + HOUR // 60], models=["touched_markets"])
    with warehouse.connect() as con:
        found = con.execute("select step, minute_ms, market_id from touched_markets order by 2").fetchall()
    assert found == [("1h", AT_MS - ago * HOUR, "v:perp:BTCUSDT") for ago in (8, 7, 6, 5, 4, 3)]
