"""Quotation of won markets in the format of Upbit's API, which Bithumb took over with its own clock: markets, tickers.

`ahead_ms` is that clock: 0 at Upbit; at Bithumb nine hours, by which its day begins earlier and its ticker's times run
ahead (the clock of Seoul, written as UTC).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from sandbox.market.noise import Floats, Ints, fraction
from sandbox.market.world import World
from sandbox.wire.endpoint import Response, json_response

DAY_MS, HOUR_MS, MINUTE_MS = 86_400_000, 3_600_000, 60_000
SEOUL_MS = 9 * HOUR_MS
_CAUTIONS = ("PRICE_FLUCTUATIONS", "TRADING_VOLUME_SOARING", "DEPOSIT_AMOUNT_SOARING", "GLOBAL_PRICE_DIFFERENCES",
             "CONCENTRATION_OF_SMALL_ACCOUNTS")  # fmt: skip


def failure(status: int, message: str, name: int | str | None = None) -> Response:
    """An error as both venues write it."""
    return json_response({"error": {"name": status if name is None else name, "message": message}}, status)


def date(ms: int, form: str = "%Y-%m-%d") -> str:
    """A date or time in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime(form)


@dataclass(frozen=True)
class Today:
    """What a ticker says of the venue's day, by row of the venue."""

    opened: Floats
    high: Floats
    low: Floats
    closed_before: Floats
    quote: Floats
    base: Floats
    year_high: Floats
    year_high_at: Ints
    year_low: Floats
    year_low_at: Ints


class WonMarkets:
    """The won markets of one venue."""

    def __init__(self, world: World, venue: str, ahead_ms: int, whole: bool) -> None:
        self.world, self.venue, self.ahead_ms, self.whole = world, venue, ahead_ms, whole
        self.rows = world.universe.rows(venue, "spot")
        self.by_symbol = {world.universe.listings[row].symbol: int(row) for row in self.rows}

    def price(self, value: float) -> float | int:
        """A number as the venue writes it: Bithumb's are whole where they can be."""
        return int(value) if self.whole and value == int(value) else value

    def listed(self, now_ms: int) -> list[int]:
        """The rows that trade now."""
        listed = self.world.minute(now_ms // MINUTE_MS).listed
        return [int(row) for row in self.rows if listed[row]]

    def markets(self, now_ms: int, details: bool) -> list[dict[str, Any]]:
        """market/all."""
        out = []
        for row in self.listed(now_ms):
            one = self.world.universe.listings[row]
            shown: dict[str, Any] = {"market": one.symbol, "korean_name": one.coin, "english_name": one.coin}
            flagged = fraction("caution", one.id) < 0.04
            if details and self.ahead_ms:
                shown["market_warning"] = "CAUTION" if flagged else "NONE"
            elif details:
                chosen = int(fraction("which", one.id) * len(_CAUTIONS)) if flagged else -1
                caution = {name: n == chosen for n, name in enumerate(_CAUTIONS)}
                shown["market_event"] = {"warning": fraction("warning", one.id) < 0.02, "caution": caution}
            out.append(shown)
        return out

    def tickers(self, rows: list[int], now_ms: int) -> list[dict[str, Any]]:
        """ticker: the day is the venue's own, 24h figures roll."""
        at = {int(row): n for n, row in enumerate(self.rows)}
        state, last = self.world.minute(now_ms // MINUTE_MS), self.world.last(now_ms)
        day = self.today(now_ms)
        out = []
        for row in rows:
            n, one, now = at[row], self.world.universe.listings[row], float(last[row])
            before, base_24h = float(day.closed_before[n]), float(state.base_24h[row])
            traded_ms = self.traded_ms(row, now_ms)
            away = round(now - before, one.decimals)
            rate = round(away / before, 4 if self.whole else 10)
            high, low = max(float(day.high[n]), now), min(float(day.low[n]), now)
            out.append({
                "market": one.symbol, "trade_date": date(traded_ms, "%Y%m%d"), "trade_time": date(traded_ms, "%H%M%S"),
                "trade_date_kst": date(traded_ms + SEOUL_MS, "%Y%m%d"),
                "trade_time_kst": date(traded_ms + SEOUL_MS, "%H%M%S"),
                "trade_timestamp": traded_ms + self.ahead_ms, "opening_price": self.price(float(day.opened[n])),
                "high_price": self.price(high), "low_price": self.price(low), "trade_price": self.price(now),
                "prev_closing_price": self.price(before),
                "change": "RISE" if away > 0 else "FALL" if away < 0 else "EVEN",
                "change_price": self.price(abs(away)), "change_rate": abs(rate),
                "signed_change_price": self.price(away), "signed_change_rate": rate,
                "trade_volume": round(base_24h / (int(state.trades_24h[row]) + 1), 8),
                "acc_trade_price": float(day.quote[n]), "acc_trade_price_24h": float(state.quote_24h[row]),
                "acc_trade_volume": round(float(day.base[n]), 8), "acc_trade_volume_24h": round(base_24h, 8),
                "highest_52_week_price": self.price(max(float(day.year_high[n]), high)),
                "highest_52_week_date": date(int(day.year_high_at[n])),
                "lowest_52_week_price": self.price(min(float(day.year_low[n]), low)),
                "lowest_52_week_date": date(int(day.year_low_at[n])),
                "timestamp": traded_ms + self.ahead_ms if self.ahead_ms else now_ms,
            })  # fmt: skip
        return out

    def traded_ms(self, row: int, now_ms: int) -> int:
        """When the last trade was: the less a market trades, the longer ago."""
        gap = DAY_MS / (float(self.world.minute(now_ms // MINUTE_MS).trades_24h[row]) + 1)
        return now_ms - int(gap * fraction("traded", row, now_ms // 1000))

    def today(self, now_ms: int) -> Today:
        """The day so far; prices at the hours' ends, so at most the true high."""
        market, rows = self.world.market, self.rows
        start_ms = (now_ms + self.ahead_ms) // DAY_MS * DAY_MS - self.ahead_ms
        hour, inside = divmod(now_ms // MINUTE_MS, 60)
        hours = np.arange(start_ms // HOUR_MS, hour + 1)
        ends = market.to_tick(rows, np.exp(market.price_logs(rows, np.append(hours * 60, start_ms // MINUTE_MS - 1))))
        quote = self.world.hour(hour).quote_volume[rows, :inside].sum(axis=1)
        if len(hours) > 1:
            quote = quote + market.hour_volumes(rows, hours[:-1]).sum(axis=1)
        seen = ends[:, :-1]
        return Today(seen[:, 0], seen.max(axis=1), seen.min(axis=1), ends[:, -1], quote, quote / seen.mean(axis=1),
                     *self.world.remembered(f"{self.venue} year", start_ms, self._year, 2))  # fmt: skip

    def _year(self, day_ms: int) -> tuple[Floats, Ints, Floats, Ints]:
        """Highest and lowest price at the days' starts in 52 weeks, and when."""
        market, rows = self.world.market, self.rows
        days = (day_ms - np.arange(364) * DAY_MS) // MINUTE_MS
        prices = market.to_tick(rows, np.exp(market.price_logs(rows, days)))
        there = market.listed(rows, days)
        there[:, 0] = True
        high, low = np.where(there, prices, -np.inf), np.where(there, prices, np.inf)
        return (
            high.max(axis=1),
            days[high.argmax(axis=1)] * MINUTE_MS,
            low.min(axis=1),
            days[low.argmin(axis=1)] * MINUTE_MS,
        )
