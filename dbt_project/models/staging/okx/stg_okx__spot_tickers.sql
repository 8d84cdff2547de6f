{%- set fields = {
    "symbol": word("r.instid"),
    "last_price": price("r.last", zero="kept"),
    "vol24h_quote": amount("r.volccy24h"),
} %}
with recorded as (
    {{ recorded('okx', 'spot_tickers', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"last\":\"VARCHAR\",\"volCcy24h\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where r is null or (coalesce(r.insttype, 'SPOT') = 'SPOT' and r.last is distinct from '')
