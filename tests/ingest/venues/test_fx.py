"""The won's exchange rate: the simulators of both publishers, the declaration, and the staging views. No real bodies
exist."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from ingest.venues.fx import FX
from sandbox.market.listing import ANCHOR_MS
from sandbox.venues.fx import Fx, noticed_ms
from tests.support.facts.spot_truth import assert_all_answered, assert_nothing_rejected, rows_of
from tests.support.pipeline.venue_minute import recorded_minute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.conformance import differences
from tests.support.servers.sandbox_client import sandbox

SUNDAY, TUESDAY = ANCHOR_MS + 37_500, ANCHOR_MS + 2 * 86_400_000 + 37_500
# A bank's notice as it was published on 2021-08-13.
NOTICE: dict[str, Any] = {
    "code": "FRX.KRWUSD", "currencyCode": "USD", "currencyName": "달러", "country": "미국", "name": "미국 (KRW/USD)",
    "date": "2021-08-13", "time": "20:01:49", "recurrenceCount": 383, "basePrice": 1169.0, "openingPrice": 1158.9,
    "highPrice": 1170.0, "lowPrice": 1158.9, "change": "RISE", "changePrice": 5.5, "cashBuyingPrice": 1189.45,
    "cashSellingPrice": 1148.55, "ttBuyingPrice": 1157.6, "ttSellingPrice": 1180.4, "tcBuyingPrice": None,
    "fcSellingPrice": None, "exchangeCommission": 1.9455, "usDollarRate": 1.0, "high52wPrice": 1193.0,
    "high52wDate": "2020-09-04", "low52wPrice": 1080.4, "low52wDate": "2021-01-04", "currencyUnit": 1,
    "provider": "하나은행", "timestamp": 1628852510337, "id": 79, "createdAt": "2016-10-21T06:13:34.000+0000",
    "modifiedAt": "2021-08-13T11:01:50.000+0000", "changeRate": 0.0047271165, "signedChangePrice": 5.5,
    "signedChangeRate": 0.0047271165,
}  # fmt: skip


@pytest.fixture(scope="module")
def fx(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("fx"))


@pytest.mark.parametrize("now", [SUNDAY, TUESDAY])
async def test_a_recorded_minute_is_the_truth(fx: Warehouse, now: int) -> None:
    rows, world = await recorded_minute(FX, now)
    assert_all_answered(rows)
    fx.build(rows, "raw_window")
    assert_nothing_rejected(fx, ["stg_fx__fx_rates", "stg_fx__fx_daily"])
    bank = Fx(world)
    noticed = noticed_ms(now)
    assert fx.rows("select pair, ts, source from stg_fx__fx_rates") == [("USD/KRW", noticed, "dunamu")]
    assert fx.rows("select rate from stg_fx__fx_rates")[0][0] == pytest.approx(bank.rate(noticed), abs=0.01)
    ((pair, rate, ts, source),) = fx.rows("select pair, rate, ts, source from stg_fx__fx_daily")
    assert (pair, source) == ("USD/KRW", "frankfurter")
    assert ts <= now
    assert rate == pytest.approx(bank.rate(ts - 105 * MINUTE), abs=0.01)
    # A dollar token costs the premium more on the Korean exchanges than the dollar at the bank.
    token = rows_of(world, "upbit", now)["KRW-USDT"]
    premium = float(np.exp(world.market.price_logs(np.array([token]), np.array([now // MINUTE])))[0, 0]) / rate - 1
    assert -0.02 < premium < 0.05


def test_a_weekend_has_no_notices() -> None:
    def seoul(day: int, hour: int, minute: int) -> int:
        return int(datetime(2026, 11, day, hour, minute, tzinfo=UTC).timestamp() * 1000) - 9 * 3_600_000

    friday_night, monday = seoul(7, 2, 0), seoul(9, 8, 30)  # the 7th is a Saturday
    assert noticed_ms(friday_night + 30_000) == friday_night
    assert noticed_ms(seoul(8, 15, 0)) == friday_night
    assert noticed_ms(monday - 1) == friday_night
    assert noticed_ms(monday + 59_000) == monday
    assert noticed_ms(seoul(6, 14, 3) + 1) == seoul(6, 14, 3)


async def test_a_series_equals_its_daily_requests(fx: Warehouse) -> None:
    async with sandbox(now_ms=TUESDAY) as client:
        notice = (await client.get("/quotation-api-cdn.dunamu.com/v1/forex/recent", codes="FRX.KRWUSD")).json
        assert differences([NOTICE], notice) == []
        host, asked = "/api.frankfurter.dev/v1", {"base": "USD", "symbols": "KRW"}
        series = (await client.get(f"{host}/2023-12-29..2024-01-05", **asked)).json
        assert list(series["rates"]) == [
            "2023-12-29", "2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]  # fmt: skip
        day = (await client.get(f"{host}/2024-01-06", **asked)).json  # a Saturday
        assert (day["date"], day["rates"]) == ("2024-01-05", series["rates"]["2024-01-05"])
        latest = (await client.get(f"{host}/latest", **asked)).json
        assert latest["date"] == "2026-11-02"
        open_ended = (await client.get(f"{host}/2026-10-30..", **asked)).json
        assert open_ended["rates"]["2026-11-02"] == latest["rates"]
        assert (await client.get(f"{host}/latest", base="XXX")).status == 404
    rows = [response(TUESDAY // MINUTE * MINUTE, "fx", "fx_daily", series)]
    fx.build(rows, "raw_window")
    reported = fx.rows("select ts, rate from stg_fx__fx_daily where reject is null order by ts")
    assert [rate for _, rate in reported] == [one["KRW"] for one in series["rates"].values()]
    assert reported[0][0] == 1_703_862_000_000  # 2023-12-29T15:00Z
