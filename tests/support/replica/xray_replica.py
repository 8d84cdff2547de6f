"""A small replica with liquidation risk of perps in each state: full, partial, stale, insufficient."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb

from tests.support.replica.replica import LAST, publish
from tests.support.servers.api_server import Api, free_port, running

XRAY = """
insert into xray_risk by name
select t, market_id, 'binance' as venue, split_part(market_id, ':', 3) as symbol, base, band_pct::double as band_pct,
    100.0::double as price, oi_usd, e::double as long_exposure_usd, e / 2 as short_exposure_usd,
    e / 10 as long_exposure_low_usd, e * 10 as long_exposure_high_usd, e / 20 as short_exposure_low_usd,
    e * 5 as short_exposure_high_usd,
    d as bid_depth_usd, d * 2 as ask_depth_usd, coverage, if(coverage = 'full', null, 'why ' || coverage) as reason,
    t - age as oldest_input_ms
from range($last - 86400000, $last + 1, 300000) as times(t), (values (0.5), (1), (2), (5)) as bands(band_pct),
    (values ('binance:perp:BTCUSDT', 'BTC', 9e9, 100e0, 1000e0, 'full', 0),
        ('binance:perp:ETHUSDT', 'ETH', 5e9, 300e0, 1000e0, 'full', 240000),
        ('binance:perp:1000PEPEUSDT', 'PEPE', 1e6, 900e0, 1000e0, 'partial', 0),
        ('bybit:perp:BTCUSDT', 'BTC', 8e9, 500e0, 1000e0, 'full', 600001),
        ('bybit:perp:ETHUSDT', 'ETH', 7e9, null, 1000e0, 'full', 0),
        ('okx:perp:BTC-USDT-SWAP', 'BTC', 6e9, 1e0, 0e0, 'full', 0),
        ('okx:perp:ETH-USDT-SWAP', 'ETH', null, null, 1000e0, 'insufficient', 0),
        ('hyperliquid:perp:BTC', 'BTC', 6e9, 1e0, 0e0, 'insufficient', 0))
    as perps(market_id, base, oi_usd, e, d, coverage, age);
insert into xray_index by name
select market_id, exchange, pair, weight::double as weight from (values
    ('binance:perp:BTCUSDT', 'binance', 'BTCUSDT', 0.6), ('binance:perp:BTCUSDT', 'coinbase', 'BTC-USD', 0.4),
    ('binance:perp:ETHUSDT', 'okx', 'ETH-USDT', 1.0)) as legs(market_id, exchange, pair, weight);
"""


@contextlib.contextmanager
def xray_server(folder: Path) -> Iterator[Api]:
    """A server with a day of these rows."""
    publish(folder / "serving", 1842, max_days=2)
    with duckdb.connect(str(folder / "serving" / "replica_a.duckdb")) as con:
        con.execute(XRAY.replace("$last", str(LAST // 300_000 * 300_000)))
    with running(folder / "serving", free_port()) as api:
        yield api
