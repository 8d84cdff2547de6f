{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "vol24h_quote": amount("r.turnover24h"),
} %}
with recorded as (
    {{ recorded('bitget', 'spot_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"turnover24h\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
