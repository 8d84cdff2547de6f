{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.last", zero="kept"),
    "vol24h_quote": amount("r.volvalue"),
} %}
with recorded as (
    {{ recorded('kucoin', 'spot_tickers', "from_json(body -> '$.data.ticker',
        '[{\"symbol\":\"VARCHAR\",\"last\":\"VARCHAR\",\"volValue\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where r is null or r.last is not null or vol24h_quote is distinct from 0
