{%- set fields = {
    "symbol": word("r.instid"),
    "last_price": price("r.last", zero="kept"),
    "_vol24h": size("r.volccy24h"),
    "vol24h_quote": within("_vol24h * last_price", "amount"),
} %}
with recorded as (
    {{ recorded('okx', 'perp_tickers', "from_json(body -> '$.data',
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
where r is null or (coalesce(r.insttype, 'SWAP') = 'SWAP' and r.last is distinct from '')
