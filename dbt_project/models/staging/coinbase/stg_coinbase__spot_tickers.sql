{%- set fields = {
    "symbol": word("named"),
    "last_price": price("price"),
    "_vol24h": size("volume"),
    "vol24h_quote": within("_vol24h * last_price", "amount"),
} %}
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
        tick_ms, key, requested_ms, received_ms, endpoint, r.symbol as named, r.price as price, r.volume as volume,
        r is null as unread, 2 as choice
    from all_tickers
    where r is null or r.day is null or r.price is not null
    union all by name
    select
        tick_ms, key, requested_ms, received_ms, endpoint, key as named, r.price as price, r.volume as volume,
        r is null as unread, 1 as choice
    from single_tickers
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"], unreadable="unread") }}
from {{ read("tickers", fields) }}
qualify reject is not null or row_number() over (partition by tick_ms, symbol order by reject is not null, choice) = 1
