with all_tickers as (
    {{ recorded('coinbase', 'spot_tickers', "list_transform(
        map_entries(from_json(body, '\"MAP(VARCHAR,JSON)\"')),
        lambda e: {
            'symbol': e.key,
            'day': e.value -> '$.stats_24hour',
            'price': e.value ->> '$.stats_24hour.last',
            'volume': e.value ->> '$.stats_24hour.volume'
        })") }}
),

single_tickers as (
    {{ recorded('coinbase', 'product_tickers', "[from_json(body, '{\"price\":\"VARCHAR\",\"volume\":\"VARCHAR\"}')]") }}
),

tickers as (
    select
        tick_ms, key, requested_ms, received_ms, endpoint, r.symbol as symbol, r.price as price, r.volume as volume,
        r is null as unread, 2 as choice
    from all_tickers
    where r is null or r.day is null or r.price is not null
    union all by name
    select
        tick_ms, key, requested_ms, received_ms, endpoint, key as symbol, r.price as price, r.volume as volume,
        r is null as unread, 1 as choice
    from single_tickers
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    symbol,
    try_cast(price as double) as last_price,
    try_cast(price as double) * try_cast(volume as double) as vol24h_quote,
    case
        when unread then 'unreadable'
        when symbol is null or last_price is null or vol24h_quote is null then 'incomplete'
    end as reject
from tickers
qualify reject is not null or row_number() over (partition by tick_ms, symbol order by reject is not null, choice) = 1
