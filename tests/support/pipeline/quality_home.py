"""A home with a served replica, a warehouse and a landing that pass every check, to break in one place at a time."""

import json
from pathlib import Path
from typing import Any

import duckdb

from ingest.landing.landing import land
from ingest.landing.rows import Row
from orchestration.config.settings import Settings
from orchestration.quality.run import in_words, run
from orchestration.quality.suites import Period
from orchestration.warehouse.watermark import prepare

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
VENUES = ("binance", "bybit", "okx", "gate")
COINS = ("BTC", "ETH", "SOL", "XRP", "ADA", "DOGE")
# One market of a venue in the bucket that starts at t; c is the coin's number, v the venue's.
ROWS = """
create table series_market_{step} as
select
    t, venue || ':' || type || ':' || base || 'USDT' as market_id, venue, type, base || 'USDT' as symbol, base,
    'USDT' as quote, false as hip3, true as aggregated,
    level * (1 + sin(t / 1e7 + c) / 50) * (1 + v / 1e4) as price,
    2.4e7 * (1 + sin(t / 3e6 + c + v) / 20) as vol24h_usd,
    1e6 * {step_ms} / 3600000 as volume_usd, 4e5 * {step_ms} / 3600000 as taker_buy_usd,
    6e5 * {step_ms} / 3600000 as taker_sell_usd,
    if(type = 'perp', 3e7 / level * (1 + cos(t / 2e7 + v) / 20), null) as oi_base, oi_base * price as oi_usd,
    if(type = 'perp', 1e-4 * (1 + v), null) as funding_8h, 1 as funding_n,
    if(type = 'perp', 0.0, null) as liq_long_usd, if(type = 'perp', 10.0, null) as liq_short_usd
from range({lo}, {hi}, {step_ms}) as buckets(t), venue_list, coin_list, (values ('perp'), ('spot')) as types(type)
"""


class QualityHome:
    """The home, and what the checks find in it. `now_ms` is their clock: just after the newest minute."""

    def __init__(self, folder: Path, newest_ms: int) -> None:
        self.settings = Settings.from_env({"TIDEMARK_HOME": str(folder)})
        self.newest_ms, self.now_ms = newest_ms, newest_ms + 90_000
        self.replica = self.settings.serving / "replica_a.duckdb"
        self.settings.serving.mkdir(parents=True)
        with duckdb.connect(str(self.replica)) as con:
            con.execute(
                "create table venue_list as select unnest(?) as venue, unnest(range(?)) as v", [list(VENUES), 4]
            )
            con.execute("create table coin_list as select unnest(?) as base, unnest(range(?)) as c", [list(COINS), 6])
            con.execute("alter table coin_list add column level double; update coin_list set level = 60000.0 / 10 ** c")
            end = newest_ms + MINUTE
            con.execute(ROWS.format(step="1m", step_ms=MINUTE, lo=end - 26 * HOUR, hi=end))
            con.execute(ROWS.format(step="1h", step_ms=HOUR, lo=newest_ms - newest_ms % HOUR - 60 * HOUR, hi=end))
            con.execute(
                "create table market_index as select distinct on (market_id) market_id, venue, type, symbol, base, "
                f"quote, hip3, aggregated, {newest_ms - 3 * DAY}::bigint as first_ms, {newest_ms}::bigint as last_ms "
                "from series_market_1m"
            )
        pointer = {"replica": self.replica.name, "edition_id": 1, "as_of_ms": newest_ms, "published_ms": newest_ms}
        (self.settings.serving / "current.json").write_text(json.dumps(pointer))
        with duckdb.connect(self.settings.warehouse) as con:
            prepare(con)

    def land(self, minutes: list[int], **odd: Any) -> None:
        """Land an answered ticker request per venue and minute; `odd` is what Binance's differ in."""
        rows = []
        for minute in minutes:
            for venue in VENUES:
                row: dict[str, Any] = {
                    "requested_ms": minute + 1000,
                    "received_ms": minute + 1500,
                    "status": 200,
                    "error": None,
                }
                row |= odd if venue == "binance" else {}
                row = {name: value(minute) if callable(value) else value for name, value in row.items()}
                rows.append(Row(tick_ms=minute, venue=venue, endpoint="perp_tickers", key="", params="{}", attempts=1,
                                body="[]", **row))  # fmt: skip
        land(rows, self.settings.landing, self.settings.recorder / "dlt")

    def land_normally(self) -> None:
        self.land([self.newest_ms - n * MINUTE for n in range(90, -1, -1)])

    def change(self, sql: str) -> None:
        """Put a fault into the replica."""
        with duckdb.connect(str(self.replica)) as con:
            con.execute(sql)

    def check(self, period: Period = "hourly") -> dict[str, dict[str, Any]]:
        """The outcomes of the failed checks by name, each with its words."""
        outcomes = run(self.settings, period, now_ms=self.now_ms, report=lambda _: None)
        return {one["check"]: one | {"words": in_words(one)} for one in outcomes if not one["passed"]}

    def suspects(self) -> list[dict[str, Any]]:
        """What is marked in the warehouse."""
        with duckdb.connect(self.settings.warehouse, read_only=True) as con:
            found = con.execute('from quality.suspect_rows order by "check", venue, market_id, from_ms')
            names = [column[0] for column in found.description or []]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
