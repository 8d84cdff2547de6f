"""Some days of 1-minute values as arrays, a warehouse built from them by dbt, and a second, simpler computation of
every metric.

Nothing here shares code with what it tests: a bucket's value is computed from the minutes that lie in it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tests.support.facts.mart_facts import MINUTE, T0, Row, Warehouse, fact_columns, instrument, market

DAYS = 8
MINUTES = DAYS * 1440
MARKETS = [
    market("binance:perp:AUSDT", "A"),
    market("binance:perp:AUSDC", "A", quote="USDC"),
    market("binance:spot:AUSDT", "A"),
    market("bybit:perp:AUSDT", "A"),
    market("bybit:spot:AUSDT", "A"),
    market("bybit:spot:1000AUSDT", "A"),
    market("hyperliquid:perp:A", "A", quote="USDC"),
    market("okx:perp:A-USDT-SWAP", "A"),
    market("bybit:perp:ABTC", "A", quote="BTC", aggregated=False),
    market("bybit:spot:ABTC", "A", quote="BTC", aggregated=False),
    market("binance:perp:BUSDT", "B"),
    market("binance:spot:BUSDT", "B"),
]
LISTENED = ("binance", "bybit")
# Which positioning series each venue publishes (5-minute buckets; as history, hours and days too), and which venues
# have order books.
SHARES = ("accounts", "top_acct", "top_pos")
REPORTED = {"binance": SHARES, "bybit": SHARES[:1], "okx": SHARES}
PERIODS = (5, 60, 1440)
BOOKS = ("binance:perp:AUSDT", "bybit:perp:AUSDT", "bybit:perp:ABTC", "binance:perp:BUSDT")
STATES = ("price", "vol24h_usd", "oi_usd", "funding_8h")
FLOWS = ("volume_usd", "taker_buy_usd", "taker_sell_usd")
CANDLE = ("open", "high", "low", "close")
BAR = (*FLOWS, *CANDLE)
LIQUIDATED = ("liq_long_usd", "liq_short_usd")
Array = np.ndarray[Any, np.dtype[np.float64]]
Values = dict[str, float | None]


@dataclass
class Facts:
    """Per market and column one value a minute; long fractions and taker sizes have one a period. NaN is unknown."""

    by_market: dict[str, dict[str, Array]]
    reported: dict[str, dict[int, dict[str, Array]]]


def make_facts(seed: int) -> Facts:
    """Values with holes: nulls, hours without data, markets that begin late or end early, markets without trades."""
    random = np.random.default_rng(seed)
    facts = {}
    down = np.zeros(MINUTES, bool)
    for start in random.integers(0, MINUTES, 12):
        down[start : start + random.integers(1, 300)] = True
    for number, identity in enumerate(MARKETS):
        values: dict[str, Array] = {}
        # Multiples of 1/64: sums of them do not depend on their order.
        for name in (*STATES, *FLOWS):
            values[name] = random.integers(0, 10**6, MINUTES) / 64
            values[name][random.random(MINUTES) < 0.2] = np.nan
        values["price"] += 100
        values["vol24h_usd"][random.random(MINUTES) < 0.1] = 0
        values["funding_8h"] = values["funding_8h"] / 2**24 - 2**-12
        alive = ~down
        if number % 4 == 1:
            alive[: random.integers(MINUTES)] = False
        if number % 4 == 2:
            alive[MINUTES - random.integers(MINUTES) :] = False
        if identity["type"] == "spot":
            values["oi_usd"][:] = values["funding_8h"][:] = np.nan
        if identity["venue"] != "binance":
            values["taker_buy_usd"][:] = values["taker_sell_usd"][:] = np.nan
        values |= _candles(np.random.default_rng([seed, number]))
        for name in (*STATES, *BAR):
            values[name][~alive] = np.nan
        listened = identity["venue"] in LISTENED and identity["type"] == "perp"
        known = ~np.isnan(np.array([values[name] for name in (*STATES, *BAR)])).all(axis=0)
        for name in LIQUIDATED:
            values[name] = np.where(known & listened, 0.0, np.nan)
            hit = known & listened & (random.random(MINUTES) < 0.05)
            values[name][hit] = random.integers(1, 10**6, hit.sum()) / 64
        values["bid_usd"], values["ask_usd"] = (random.integers(0, 10**6, MINUTES) / 64 for _ in range(2))
        unread = (np.arange(MINUTES) % 2 > 0) | down | (random.random(MINUTES) < 0.3)
        if identity["market_id"] not in BOOKS or identity["quote"] == "BTC":
            unread[:] = True
        values["bid_usd"][unread] = values["ask_usd"][unread] = np.nan
        facts[identity["market_id"]] = values
    reported = {
        identity["market_id"]: _reported(random, identity) for identity in MARKETS if identity["type"] == "perp"
    }
    return Facts(facts, reported)


def _candles(random: np.random.Generator) -> dict[str, Array]:
    """The prices of each minute's bar: of some minutes there is no bar, of some its high or low is unknown."""
    prices = 100 + np.sort(random.integers(0, 10**6, (4, MINUTES)) / 64, axis=0)
    inner = np.where(random.random(MINUTES) < 0.5, [prices[1], prices[2]], [prices[2], prices[1]])
    candles = dict(zip(CANDLE, (inner[0], prices[3], prices[0], inner[1]), strict=True))
    without = random.random(MINUTES) < 0.2
    for name, values in candles.items():
        values[without | (random.random(MINUTES) < (0.1 if name in ("high", "low") else 0))] = np.nan
    return candles


def _reported(random: np.random.Generator, identity: dict[str, Any]) -> dict[int, dict[str, Array]]:
    """The ratios that a venue publishes of one perp, by period: the first days are known in hours and days only."""
    reported: dict[int, dict[str, Array]] = {}
    for period in PERIODS:
        count = MINUTES // period
        reported[period] = {}
        for name in REPORTED.get(identity["venue"], ()):
            reported[period][name] = random.integers(0, 64, count) / 64
        if len(reported[period]) > 1:
            for side in ("buy", "sell"):
                reported[period][side] = random.integers(0, 64, count) / 64
        for name, values in reported[period].items():
            # Buy and sell sizes are published together.
            unknown = np.random.default_rng(period + len(name.replace("sell", "buy"))).random(count) < 0.3
            values[unknown] = np.nan
            if period == 5:
                values[: count // 4] = np.nan
                values[count // 2 : count // 2 + 600] = np.nan
            if period == 60:
                values[count // 2 + 30 :] = np.nan
    return reported


def build_warehouse(folder: Path, facts: Facts) -> Warehouse:
    """The facts as the intermediate layer leaves them, and the marts that dbt builds from them."""
    warehouse = Warehouse(folder)
    warehouse.add("instruments", [instrument(one, usd_like=one["quote"] != "BTC") for one in MARKETS])
    minutes = T0 + np.arange(MINUTES) * MINUTE
    with warehouse.connect() as con:
        for identity in MARKETS:
            values = facts.by_market[identity["market_id"]]
            _insert(con, "int_market_minutes", identity, minutes, values, STATES)
            _insert(con, "int_market_bars", {**identity, "source": "recorded"}, minutes, values, BAR)
            for side, name in zip(("long", "short"), LIQUIDATED, strict=True):
                hit = values[name] > 0
                keys = {key: identity[key] for key in ("market_id", "venue", "symbol", "base", "aggregated")}
                event = {**keys, "side": side, "source": "recorded"}
                _insert(con, "int_liquidations", event, minutes[hit], {"usd": values[name][hit]}, ("usd",))
        for identity in MARKETS:
            _insert_reported(con, identity, facts.reported.get(identity["market_id"], {}))
            _insert_books(con, identity, minutes, facts.by_market[identity["market_id"]])
        for venue in LISTENED:
            con.execute(
                "insert into int_stream_minutes (tick_ms, venue, endpoint, key, connected_ms) "
                "select unnest(?::bigint[]), ?, 'liquidations', '', 60000",
                [minutes.tolist(), venue],
            )
        con.execute(
            "insert into int_response_minutes (tick_ms, venue, endpoint, requests, ok, failed, unreachable, broken) "
            "select unnest(?::bigint[]), 'binance', 'perp_tickers', 1, 1, 0, 0, 0",
            [minutes.tolist()],
        )
    warehouse.build(minutes.tolist())
    return warehouse


def _insert(
    con: duckdb.DuckDBPyConnection,
    table: str,
    identity: Row,
    minutes: "np.ndarray[Any, Any]",
    values: dict[str, Array],
    names: tuple[str, ...],
) -> None:
    """Rows where anything of `names` is known; what the table has no column for is left out."""
    known = ~np.isnan(np.array([values[name] for name in names])).all(axis=0)
    having = fact_columns()[table]
    times = {name: minutes[known] for name in ("minute_ms", "tick_ms", "ts") if name in having}
    columns = {**times, **{name: pa.array(values[name][known], from_pandas=True) for name in names}}
    constant = {name: value for name, value in identity.items() if name in having}
    rows = pa.table({**columns, **{name: [value] * int(known.sum()) for name, value in constant.items()}})
    con.register("arrived", rows)
    con.execute(f"insert into {table} by name select * from arrived")
    con.unregister("arrived")


def _insert_reported(con: duckdb.DuckDBPyConnection, identity: Row, reported: dict[int, dict[str, Array]]) -> None:
    """Ratios as the intermediate layer has them; OKX publishes taker sizes in USD, all others in coins."""
    unit = "usd" if identity["venue"] == "okx" else "base"
    for period, columns in reported.items():
        starts = T0 + np.arange(MINUTES // period) * period * MINUTE
        for name, values in columns.items():
            if name == "sell":
                continue
            known = ~np.isnan(values)
            what = (
                {f"taker_{side}_{unit}": side for side in ("buy", "sell")} if name == "buy" else {"long_fraction": name}
            )
            rows = {column: pa.array(columns[part][known]) for column, part in what.items()}
            con.register("arrived", pa.table({"t": starts[known], **rows}))
            con.execute(
                "insert into int_ratios by name select *, ? as market_id, ? as kind, ? as period_ms, ? as venue, "
                "? as symbol, ? as base, ? as source, ? as tick_ms from arrived",
                [
                    identity["market_id"],
                    "taker_buy" if name == "buy" else name,
                    period * MINUTE,
                    *(identity[key] for key in ("venue", "symbol", "base")),
                    "recorded" if period == 5 else "backfilled",
                    T0 + (MINUTES - 1) * MINUTE,
                ],
            )
            con.unregister("arrived")


def _insert_books(
    con: duckdb.DuckDBPyConnection, identity: Row, minutes: "np.ndarray[Any, Any]", values: dict[str, Array]
) -> None:
    """Order books with the notional within 0.5 and 1 %; a book without a value in USD has another quote."""
    if identity["market_id"] not in BOOKS:
        return
    read = np.arange(MINUTES) % 2 == 0
    columns = {"tick_ms": minutes[read]}
    columns |= {name: pa.array(values[name][read], from_pandas=True) for name in ("bid_usd", "ask_usd")}
    con.register("arrived", pa.table(columns))
    band = "{{band_pct: {}::double, bid_usd: {}, ask_usd: {}, bid_truncated: false, ask_truncated: true}}"
    con.execute(
        "insert into int_book_depth by name select tick_ms, ? as market_id, ? as venue, ? as symbol, ? as base, "
        f"[{band.format(0.5, 'bid_usd / 2', '1e9')}, {band.format(1, 'bid_usd', 'ask_usd')}] as depth from arrived",
        [identity[key] for key in ("market_id", "venue", "symbol", "base")],
    )
    con.unregister("arrived")


def last(values: Array) -> float | None:
    known = values[~np.isnan(values)]
    return float(known[-1]) if known.size else None


def total(values: Iterable[float | None] | Array) -> float | None:
    known = [float(value) for value in values if value is not None and not np.isnan(value)]
    return sum(known) if known else None


def mean(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Weighted mean of (value, weight) over the pairs that have both, the weight above 0."""
    known = [(value, weight) for value, weight in pairs if value is not None and weight is not None and weight > 0]
    return sum(value * weight for value, weight in known) / sum(weight for _, weight in known) if known else None


@dataclass
class Selected:
    """The markets that a request selects (of long-short: of a kind), in a bucket of minutes [start, start + width)."""

    facts: Facts
    markets: list[dict[str, Any]]
    single: bool
    start: int
    width: int
    kind: str = "accounts"

    def value(self, metric: str) -> Values:
        """A metric's fields, running sums aside."""
        match metric:
            case "price":
                return {
                    "v": self.by_turnover([(self.last(m, "price"), self.last(m, "vol24h_usd")) for m in self.markets])
                }
            case "oi":
                return {"v": total(self.last(m, "oi_usd") for m in self.markets)}
            case "volume":
                return {"v": self.sum("volume_usd")}
            case "candles":
                return self.candle()
            case "liquidations":
                return {"long": self.sum("liq_long_usd"), "short": self.sum("liq_short_usd")}
            case "funding":
                means = [(mean((float(f), 1) for f in self.cell(m, "funding_8h") if f == f), m) for m in self.markets]
                return {"v": means[0][0] if self.single else mean((f, self.last(m, "oi_usd")) for f, m in means)}
            case "spot-perp-volume":
                spot, perp = self.sum("volume_usd", "spot"), self.sum("volume_usd", "perp")
                return {"spot": spot, "perp": perp, "v": perp / spot if spot and perp is not None else None}
            case "basis":
                v = self.basis()
                return {"v": v, "ann": None if v is None else v * 1095}
            case "long-short":
                return {"v": self.share(self.kind)}
            case "top-vs-crowd":
                return self.difference("top_acct", "top", "crowd")
            case "whale-vs-retail":
                return self.difference("top_pos", "whale", "retail")
            case "net-positioning":
                return self.positioning()
            case "ob-depth":
                return {"bid": self.last_sum("bid_usd"), "ask": self.last_sum("ask_usd")}
            case "bid-ask-ratio":
                bid, ask = self.last_sum("bid_usd"), self.last_sum("ask_usd")
                return {"v": bid / ask if bid is not None and ask else None, "bid": bid, "ask": ask}
        buy, sell = self.sum("taker_buy_usd"), self.sum("taker_sell_usd")
        net = None if buy is None or sell is None else buy - sell
        return {"net": net} if metric == "cvd" else {"buy": buy, "sell": sell, "net": net}

    def candle(self) -> Values:
        """Of the one market: over the minutes of which all four prices are known, in USD alone."""
        [market] = self.markets
        opened, high, low, closed = whole = np.array([self.cell(market, name) for name in CANDLE])
        known = ~np.isnan(whole).any(axis=0)
        if market["quote"] == "BTC" or not known.any():
            return dict.fromkeys(CANDLE)
        prices = (opened[known][0], high[known].max(), low[known].min(), closed[known][-1])
        return dict(zip(CANDLE, map(float, prices), strict=True))

    def cell(self, identity: dict[str, Any], name: str) -> Array:
        return self.facts.by_market[identity["market_id"]][name][self.start : self.start + self.width]

    def last(self, identity: dict[str, Any], name: str) -> float | None:
        return last(self.cell(identity, name))

    def sum(self, name: str, kind: str | None = None) -> float | None:
        return total(total(self.cell(m, name)) for m in self.markets if kind in (None, m["type"]))

    def by_turnover(self, pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
        """Weighted by turnover; without any, all alike."""
        weighted = pairs[0][0] if self.single and pairs else mean(pairs)
        plain = [value for value, _ in pairs if value is not None]
        return weighted if weighted is not None else sum(plain) / len(plain) if plain else None

    def basis(self) -> float | None:
        pairs = []
        for perp in self.markets:
            mine = self.last(perp, "price")
            spots = [
                (self.last(spot, "vol24h_usd") or 0.0, spot["market_id"], price)
                for spot in MARKETS
                if spot["type"] == "spot" and all(spot[key] == perp[key] for key in ("base", "venue", "quote"))
                if (price := self.last(spot, "price")) is not None
            ]
            if perp["type"] == "perp" and mine is not None and spots:
                pairs.append((mine / max(spots)[2] - 1, self.last(perp, "vol24h_usd")))
        return self.by_turnover(pairs)

    def last_sum(self, name: str) -> float | None:
        return total(self.last(m, name) for m in self.markets)

    def difference(self, top: str, one: str, other: str) -> Values:
        """Only of venues that publish a top-trader ratio."""
        self.markets = [m for m in self.markets if top in REPORTED.get(m["venue"], ())]
        high, low = self.share(top), self.share("accounts")
        return {"v": None if high is None or low is None else high - low, one: high, other: low}

    def share(self, kind: str) -> float | None:
        """Mean over venues of the mean over their markets, weighted by open interest; takers' of all they traded."""
        of_venues = []
        for venue in dict.fromkeys(m["venue"] for m in self.markets):
            here = [m for m in self.markets if m["venue"] == venue]
            if kind == "taker_buy":
                bought, sold = (total(self.reported(m, side) for m in here) for side in ("buy", "sell"))
                of_venues.append(
                    bought / (bought + sold) if bought is not None and sold is not None and bought + sold else None
                )
                continue
            pairs = [(self.reported(m, kind), self.reported(m, "oi_usd")) for m in here]
            weighted = mean(pairs)
            of_venues.append(mean((value, 1) for value, _ in pairs) if weighted is None else weighted)
        return mean((value, 1) for value in of_venues)

    def positioning(self) -> Values:
        held = [(self.reported(m, "accounts"), self.reported(m, "oi_usd")) for m in self.markets]
        parts = [(oi * share, oi * (1 - share)) for share, oi in held if share is not None and oi is not None]
        long, short = total(long for long, _ in parts), total(short for _, short in parts)
        return {"v": None if long is None or short is None else long - short, "long": long, "short": short}

    def reported(self, identity: dict[str, Any], name: str) -> float | None:
        """Last long fraction (or its open interest), or sum of taker sizes: of the shortest period that has a value."""
        periods = [period for period in PERIODS if period <= self.width]
        known = identity["market_id"] in self.facts.reported and periods
        return self._reported(identity["market_id"], name, self.start, self.width, periods) if known else None

    def _reported(self, market_id: str, name: str, start: int, width: int, periods: list[int]) -> float | None:
        *shorter, longest = periods
        found = []
        for at in range(start, min(start + width, MINUTES), longest):
            value = self._reported(market_id, name, at, longest, shorter) if shorter else None
            found.append(self._of_period(market_id, name, at, longest) if value is None else value)
        known = [value for value in found if value is not None]
        return None if not known else sum(known) if name in ("buy", "sell") else known[-1]

    def _of_period(self, market_id: str, name: str, at: int, period: int) -> float | None:
        """The published value of one whole period; the open interest counts only where a ratio is published."""
        reported = {column: values[at // period] for column, values in self.facts.reported[market_id][period].items()}
        if name == "oi_usd" and not np.isnan(list(reported.values())).all():
            return last(self.facts.by_market[market_id]["oi_usd"][at : at + period])
        return last(np.array([reported.get(name, np.nan)]))
