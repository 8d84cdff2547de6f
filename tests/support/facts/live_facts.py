"""Random rows of one moment and the day before it (markets, liquidations, ratios) for the live tables.

Observations lie around the times from which changes are measured, so that both sides of every bound are tested.
"""

import math
from pathlib import Path
from random import Random
from typing import Any

import duckdb

from orchestration.publish.publish import publish_locked
from orchestration.warehouse.watermark import prepare
from tests.support.facts.mart_facts import MINUTE, T0, Warehouse, instrument, market
from tests.support.pipeline import kept_open
from tests.support.pipeline.dbt_project import write_manifest
from tests.support.replica.replica import CATALOG

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
NOW = T0 + 2 * DAY + 37 * MINUTE  # the newest minute
AS_OF = NOW + 23_456
AGES = {"1h": HOUR, "2h": 2 * HOUR, "4h": 4 * HOUR, "24h": DAY}
OBSERVED = ("price", "vol24h_usd", "oi_usd", "oi_base", "funding_8h")
HEARD = ("binance", "bybit")
GAP = (NOW - 170 * MINUTE, NOW - 160 * MINUTE)  # bybit's stream is away
RATIOS = (("binance", "accounts"), ("binance", "top_pos"), ("bybit", "accounts"))
MARKETS = [
    *(market(f"{venue}:perp:{coin}USDT", coin) for coin in "ABCDE" for venue in ("binance", "bybit", "okx")),
    *(market(f"binance:spot:{coin}USDT", coin) for coin in "ABF"),
    market("binance:perp:AUSDC", "A", quote="USDC"),
    market("bybit:perp:ABTC", "A", quote="BTC", aggregated=False),
    market("hyperliquid:perp:A", "A", quote="USDC"),
    market("hyperliquid:perp:d:A", "A", quote="USDC", hip3=True, aggregated=False),
    market("hyperliquid:perp:d:Y", "d:Y", quote="USDC", hip3=True, aggregated=False),
    *(market(f"okx:perp:Z{number:02}", f"Z{number:02}") for number in range(60)),
]
COUNTED = [one for one in MARKETS if one["aggregated"]]
Rows = list[dict[str, Any]]


class Live:
    """What was recorded, as plain rows."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.listed_ms = {one["market_id"]: random.choice([None, 0, NOW - 90 * MINUTE, 0]) for one in MARKETS}
        self.minutes: Rows = []
        for one in MARKETS:
            perp = one["type"] == "perp"
            for age in (0, *AGES.values()):
                # A from start to end at each time, the others now and then.
                chance = 1.0 if one["base"] == "A" else random.choice([0.15, 0.6, 0.6])
                for back in range(-1 if age else 0, 7):
                    values = {name: random.randint(1, 10**6) / 64 for name in OBSERVED if perp or name in OBSERVED[:2]}
                    if "oi_usd" in values:
                        values["oi_usd"] *= 2000
                        values["funding_8h"] = values["funding_8h"] / 2**24 - 2**-12
                    known = {name: value for name, value in values.items() if random.random() < max(chance, 0.7)}
                    if random.random() < chance:
                        self.minutes.append({"minute_ms": NOW - age - back * MINUTE, **one, **known})
        feeds = [one for one in MARKETS if one["type"] == "perp" and one["venue"] in HEARD]
        self.liquidations: Rows = []
        for _ in range(600):
            ts = random.choice([random.randint(NOW - 26 * HOUR, AS_OF), random.randint(NOW - 2 * HOUR, NOW + MINUTE)])
            one = random.choice(feeds)
            names = ("market_id", "venue", "symbol", "base", "aggregated")
            self.liquidations.append(
                {name: one[name] for name in names}
                | {"tick_ms": ts - ts % MINUTE, "ts": ts, "side": random.choice(["long", "short"])}
                | {"usd": random.randint(1, 10**6) / 64, "price": random.randint(1, 10**6) / 64}
            )
        # Two bars of A stand out of many alike, on two venues: bought and sold.
        self.bars: Rows = []
        for one, back, buys in ((MARKETS[0], 30, 2.0), (MARKETS[1], 26 * 60, 1.0), (MARKETS[1], 10, 0.5)):
            for age in range(back, back + 100):
                usd = math.exp(20) if age == back else math.exp(9 + age % 3)
                sides = {"volume_usd": usd, "taker_buy_usd": usd * buys, "taker_sell_usd": usd}
                times = {"minute_ms": NOW - age * MINUTE, "tick_ms": NOW - (age - 1) * MINUTE}
                self.bars.append({**times, **one, "open": 1.0, "close": 1.0, **sides, "source": "recorded"})
        self.ratios: Rows = []
        newest = NOW - NOW % (5 * MINUTE)
        for venue, kind in RATIOS:
            for one in MARKETS:
                if one["venue"] != venue or one["type"] != "perp" or random.random() < 0.2:
                    continue
                mine = newest - random.choice([0, 0, 5, 55, 130]) * MINUTE
                for age in (0, HOUR, 4 * HOUR, DAY):
                    for back in random.sample([0, 5, 10], random.randint(0 if age else 1, 3)):
                        self.ratios.append(
                            {name: one[name] for name in ("market_id", "venue", "symbol", "base")}
                            | {"kind": kind, "period_ms": 5 * MINUTE, "t": mine - age - back * MINUTE}
                            | {"long_fraction": random.randint(0, 64) / 64, "source": "recorded", "tick_ms": NOW}
                        )

    def warehouse(self, folder: Path) -> Warehouse:
        """All of it as the intermediate layer leaves it, and the marts that dbt builds from it."""
        built = Warehouse(folder)
        built.add("instruments", [instrument(one, listed_ms=self.listed_ms[one["market_id"]]) for one in MARKETS])
        built.add("int_market_minutes", self.minutes)
        built.add("int_liquidations", self.liquidations)
        built.add("int_ratios", self.ratios)
        built.add("int_market_bars", self.bars)
        with built.connect() as con:
            con.execute(f"""
                insert into int_stream_minutes (tick_ms, venue, endpoint, key, connected_ms)
                select t, venue, 'liquidations', '', if(venue = 'bybit' and t >= {GAP[0]} and t < {GAP[1]}, 0, 60000)
                from range({NOW - 26 * HOUR}, {NOW}, {MINUTE}) as minutes(t), unnest({list(HEARD)}) as heard(venue);
                insert into int_response_minutes (tick_ms, venue, endpoint, requests, ok, failed, unreachable, broken)
                select t, 'binance', 'perp_tickers', 1, 1, 0, 0, 0
                from range({NOW - 26 * HOUR}, {NOW + MINUTE}, {MINUTE}) as minutes(t);
                insert into pipeline.settings values ('as_of_ms', '{AS_OF}');
            """)
        built.build(range(NOW - 26 * HOUR, NOW + MINUTE, MINUTE))
        return built

    def ago(self, market_id: str, name: str, age: int = 0) -> tuple[float | None, int | None]:
        """The newest observation that is not after the time and at most 5 minutes before it, and its minute."""
        known = [
            (row["minute_ms"], row.get(name))
            for row in self.minutes
            if row["market_id"] == market_id and NOW - age - 5 * MINUTE <= row["minute_ms"] <= NOW - age
            and row.get(name) is not None
        ]  # fmt: skip
        return max(known)[::-1] if known else (None, None)

    def change(self, market_id: str, name: str, age: int) -> float | None:
        """The fraction by which an observation changed."""
        now, then = self.ago(market_id, name)[0], self.ago(market_id, name, age)[0]
        return None if now is None or not then else now / then - 1


def publish_warehouse(path: Path, serving: Path, as_of_ms: int) -> None:
    """Publish a warehouse that dbt has built, with the product's own publish."""
    kept_open.close(path)
    with duckdb.connect(str(path)) as con:
        con.execute("drop table pipeline.window_minutes")
        prepare(con)
        con.execute("insert into pipeline.builds values (1, 0, 1, ?, [], [])", [as_of_ms])
        con.execute("insert into pipeline.loads values ('1', 'f', ?, ?, 1, 1)", [T0, as_of_ms])
    manifest = path.with_name("manifest.json")
    write_manifest(manifest, CATALOG)
    assert publish_locked(str(path), serving, manifest, report=lambda _: None)
