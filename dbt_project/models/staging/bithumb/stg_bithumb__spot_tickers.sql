-- Won tickers; one row per market, of either generation of the API: an object of coins (1.2, all at once, with the
-- answer's date among the coins), or a list of markets (2.x). Both give the won of the last 24 hours beside those since
-- 00:00 KST. The times of 2.x run nine hours ahead (KST written as UTC) and are not read.
with recorded as (
    {{ recorded('bithumb', 'spot_tickers', "case json_type(body)
        when 'ARRAY' then
            list_transform(
                from_json(body, '[{\"market\":\"VARCHAR\",\"trade_price\":\"VARCHAR\",\"acc_trade_price_24h\":\"VARCHAR\"}]'),
                lambda m: {'symbol': m.market, 'price': m.trade_price, 'traded': m.acc_trade_price_24h}
            )
        else
            list_transform(
                list_filter(map_entries(from_json(body -> '$.data', '\"MAP(VARCHAR,JSON)\"')), lambda e: e.key <> 'date'),
                lambda e: {
                    'symbol': 'KRW-' || e.key,
                    'price': e.value ->> '$.closing_price',
                    'traded': e.value ->> '$.acc_trade_value_24H'
                }
            )
        end") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.price as double) as last_price,
    try_cast(r.traded as double) as vol24h_quote,
    {{ reject(['symbol', 'last_price', 'vol24h_quote']) }}
from recorded
where starts_with(coalesce(r.symbol, 'KRW-'), 'KRW-')
