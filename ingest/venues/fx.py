"""The won's price of a dollar: the bank rate that Upbit's operator shows (Dunamu), and the ECB's daily one."""

from ingest.declaration.endpoint import Endpoint, Pool, Venue

BANK, DAILY = "quotation-api-cdn.dunamu.com", "api.frankfurter.dev"

FX = Venue(
    name="fx",
    # Neither says a limit: one request a minute and one an hour, and few more after a failure.
    pools=(Pool("bank", 6, 60), Pool("daily", 6, 60, history=3)),
    endpoints=(
        # KEB Hana Bank's rate as Upbit's site loads it: undocumented, still on weekends, sometimes down.
        Endpoint("fx_rates", BANK, "/v1/forex/recent", "bank", {"codes": "FRX.KRWUSD"}),
        # ECB reference rates of the last working day, new about 16:00 CET (https://frankfurter.dev/v1/).
        Endpoint("fx_daily", DAILY, "/v1/latest", "daily", {"base": "USD", "symbols": "KRW"}, every_s=3600),
    ),
    parallel=2,
)
