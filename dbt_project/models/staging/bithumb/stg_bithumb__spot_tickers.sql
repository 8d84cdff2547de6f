{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.price", zero="kept"),
    "vol24h_quote": amount("r.traded"),
} %}
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
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where starts_with(coalesce(r.symbol, 'KRW-'), 'KRW-')
