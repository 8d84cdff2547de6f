"""The won's price of a dollar: the bank rate that Upbit's operator shows (Dunamu), and the ECB's daily one."""

from datetime import UTC, datetime

from ingest.declaration.endpoint import Body, Endpoint, Pool
from ingest.declaration.history import History, Piece
from ingest.declaration.venue import Venue

BANK, DAILY = "quotation-api-cdn.dunamu.com", "api.frankfurter.dev"


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d")


def _days_path(piece: Piece) -> str:
    return f"/v1/{_day(piece.begin_ms)}..{_day(piece.end_ms - 1)}"


def _dates(body: Body) -> list[int]:
    return [int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000) for day in body["rates"]]


FX = Venue(
    name="fx",
    # Neither documents a limit: one request a minute and one an hour, plus a few after a failure.
    pools=(Pool("bank", 6, 60), Pool("daily", 6, 60, history=3)),
    endpoints=(
        # KEB Hana Bank's rate as Upbit's site loads it: undocumented, still on weekends, sometimes down.
        Endpoint("fx_rates", BANK, "/v1/forex/recent", "bank", {"codes": "FRX.KRWUSD"}),
        # ECB reference rates of the last working day, new about 16:00 CET (https://frankfurter.dev/v1/).
        Endpoint("fx_daily", DAILY, "/v1/latest", "daily", {"base": "USD", "symbols": "KRW"}, every_s=3600),
    ),
    history=(
        History(
            "fx_daily",
            "1d",
            DAILY,
            _days_path,
            "daily",
            lambda piece: {"base": "USD", "symbols": "KRW"},
            _dates,
            most=400,
            order="span",
            days=400,
        ),
    ),
    parallel=2,
)
