"""The two simulated sources of the won's rate: a bank's during the day (Dunamu), and the ECB's once a day.

The world's won is the one of the street: what coins and dollar tokens are bought with. The bank's dollar is cheaper,
and the difference is the premium.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.noise import keys, walk
from sandbox.market.world import World
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response

BANK, DAILY = "quotation-api-cdn.dunamu.com", "api.frankfurter.dev"
SEOUL_MS, MINUTE_MS, DAY_MS = 9 * 3_600_000, 60_000, 86_400_000
PREMIUM = 0.013  # of the street's dollar over the bank's, about which it wanders
_WANDERS = ((480, 0.0015), (4_320, 0.004), (43_200, 0.008))
_FIRST_DAY = datetime(1999, 1, 4, tzinfo=UTC)


class Fx:
    """Both publishers over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.won = next(n for n, asset in enumerate(world.universe.assets) if asset.name == "KRW")
        self.premium_key = keys(["premium"], world.market.seed, "fx")

    def rate(self, ms: int) -> float:
        """Won per dollar at the bank in this minute."""
        return self._rates([ms])[0]

    def _rates(self, moments: list[int]) -> list[float]:
        at = np.array(moments) // MINUTE_MS
        street = np.exp(-self.world.market.asset_logs(np.array([self.won]), at)[0])
        rates: list[float] = (street / (1.0 + PREMIUM + walk(self.premium_key, at, _WANDERS)[0])).tolist()
        return rates

    def recent(self, request: Request) -> Response:
        """GET /v1/forex/recent."""
        codes = [code.strip().upper() for code in request.query.get("codes", "").split(",")]
        return json_response([self._notice(request.now_ms)] if "FRX.KRWUSD" in codes else [])

    def _notice(self, now_ms: int) -> dict[str, Any]:
        at = noticed_ms(now_ms)
        day = (at + SEOUL_MS) // DAY_MS * DAY_MS - SEOUL_MS
        opened_ms = day + 510 * MINUTE_MS
        if at < opened_ms:  # trading goes on after midnight
            opened_ms -= DAY_MS
        moments = [noticed_ms(opened_ms - DAY_MS), *range(opened_ms, at, 3_600_000), at]
        before, *seen = (round(rate, 2) for rate in self._rates(moments))
        now = seen[-1]
        local = datetime.fromtimestamp((at + SEOUL_MS) / 1000, UTC)
        away = round(now - before, 2)
        return {
            "code": "FRX.KRWUSD", "currencyCode": "USD", "currencyName": "달러", "country": "미국",
            "name": "미국 (KRW/USD)", "date": f"{local:%Y-%m-%d}", "time": f"{local:%H:%M:%S}",
            "recurrenceCount": (at - opened_ms) // MINUTE_MS + 1, "basePrice": now, "openingPrice": seen[0],
            "highPrice": max(seen), "lowPrice": min(seen),
            "change": "RISE" if away > 0 else "FALL" if away < 0 else "EVEN", "changePrice": abs(away),
            "cashBuyingPrice": round(now * 1.0175, 2), "cashSellingPrice": round(now * 0.9825, 2),
            "ttBuyingPrice": round(now * 0.9902, 2), "ttSellingPrice": round(now * 1.0098, 2),
            "tcBuyingPrice": None, "fcSellingPrice": None, "exchangeCommission": 1.9455, "usDollarRate": 1.0,
            "high52wPrice": round(max(seen) * 1.04, 2), "high52wDate": f"{local - timedelta(days=120):%Y-%m-%d}",
            "low52wPrice": round(min(seen) * 0.95, 2), "low52wDate": f"{local - timedelta(days=290):%Y-%m-%d}",
            "currencyUnit": 1, "provider": "하나은행", "timestamp": at, "id": 79,
            "createdAt": "2016-10-21T06:13:34.000+0000",
            "modifiedAt": datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000"),
            "changeRate": abs(round(away / before, 10)), "signedChangePrice": away,
            "signedChangeRate": round(away / before, 10),
        }  # fmt: skip

    def latest(self, request: Request) -> Response:
        """GET /v1/latest: the rates of the last working day, new at 15:00 UTC."""
        if (refused := _refused(request)) is not None:
            return refused
        day = _working(datetime.fromtimestamp(request.now_ms / 1000, UTC) - timedelta(hours=15))
        body = {"amount": 1.0, "base": "USD", "date": f"{day:%Y-%m-%d}", "rates": {"KRW": self._fixed(day)}}
        return json_response(body)

    def series(self, request: Request) -> Response:
        """GET /v1/{from}..{to}: the rates of the working days between, and GET /v1/{day}."""
        if (refused := _refused(request)) is not None:
            return refused
        first, dots, last = request.query["days"].partition("..")
        newest = _working(datetime.fromtimestamp(request.now_ms / 1000, UTC) - timedelta(hours=15))
        try:
            start = max(datetime.fromisoformat(first).replace(tzinfo=UTC), _FIRST_DAY)
            end = min(datetime.fromisoformat(last).replace(tzinfo=UTC) if last else newest, newest)
        except ValueError:
            return json_response({"message": "not found"}, 404)
        if not dots:
            day = _working(min(start, newest))
            body = {"amount": 1.0, "base": "USD", "date": f"{day:%Y-%m-%d}", "rates": {"KRW": self._fixed(day)}}
            return json_response(body)
        between = [start + timedelta(days=n) for n in range((end - start).days + 1)]
        days = [day for day in between if day.weekday() < 5]
        if not days:
            return json_response({"message": "not found"}, 404)
        rates = {f"{day:%Y-%m-%d}": {"KRW": self._fixed(day)} for day in days}
        body = {"amount": 1.0, "base": "USD", "start_date": f"{days[0]:%Y-%m-%d}", "end_date": f"{days[-1]:%Y-%m-%d}"}
        return json_response(body | {"rates": rates})

    def _fixed(self, day: datetime) -> float:
        """The reference rate: that of 13:15 UTC."""
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return round(self.rate(int(midnight.timestamp() * 1000) + 795 * MINUTE_MS), 2)


def noticed_ms(now_ms: int) -> int:
    """Time of the bank's last rate (UTC epoch ms): one a minute, none from Saturday 02:00 to Monday 08:30 in Seoul."""
    minute = now_ms // MINUTE_MS * MINUTE_MS
    # 1970-01-01 was a Thursday: this counts from Monday 00:00 in Seoul.
    inside = (minute + SEOUL_MS + 3 * DAY_MS) % (7 * DAY_MS)
    monday, opens, closes = minute - inside, 510 * MINUTE_MS, 5 * DAY_MS + 120 * MINUTE_MS
    if inside < opens:
        return monday - 7 * DAY_MS + closes
    return monday + closes if inside > closes else minute


def _working(day: datetime) -> datetime:
    """The day, or the Friday before it."""
    return day - timedelta(days=max(0, day.weekday() - 4))


def _refused(request: Request) -> Response | None:
    if request.query.get("base", "EUR").upper() != "USD" or "KRW" not in request.query.get(
        "symbols", "KRW"
    ).upper().split(","):
        return json_response({"message": "not found"}, 404)
    return None


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of both publishers."""
    fx = Fx(world)
    return [
        Endpoint("fx", BANK, "/v1/forex/recent", fx.recent, "fx_bank"),
        Endpoint("fx", DAILY, "/v1/latest", fx.latest, "fx_daily"),
        Endpoint("fx", DAILY, "/v1/<days:str>", fx.series, "fx_daily"),
    ]


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429: neither documents a limit."""
    return json_response({"message": "Too Many Requests"}, 429)


SIMULATED = SimulatedVenue(
    venue="fx",
    hosts=(BANK, DAILY),
    pools={"fx_bank": Pool(60, 60_000), "fx_daily": Pool(60, 60_000)},
    endpoints=endpoints,
    refusal=refusal,
)
