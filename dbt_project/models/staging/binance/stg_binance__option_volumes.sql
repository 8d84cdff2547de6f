with recorded as (
    {{ recorded('binance', 'option_volumes', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"volume\":\"VARCHAR\",\"amount\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as instrument,
    try_cast(r.volume as double) as volume_coins,
    try_cast(r.amount as double) as volume_usd,
    {{ reject(['instrument', 'volume_coins']) }}
from recorded
where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
