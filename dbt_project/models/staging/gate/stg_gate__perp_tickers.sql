{%- set fields = {
    "symbol": word("r.contract"),
    "last_price": price("r.last", zero="kept"),
    "mark_price": price("r.mark_price", zero="kept"),
    "index_price": price("r.index_price", zero="none"),
    "vol24h_quote": amount("r.volume_24h_quote"),
    "open_contracts": size("r.total_size"),
    "funding_rate": rate("r.funding_rate"),
    "_multiplier": contract_size("r.quanto_multiplier"),
} %}
with recorded as (
    {{ recorded('gate', 'perp_tickers', "from_json(body,
        '[{\"contract\":\"VARCHAR\",\"last\":\"VARCHAR\",\"mark_price\":\"VARCHAR\",\"index_price\":\"VARCHAR\",
           \"volume_24h_quote\":\"VARCHAR\",\"total_size\":\"VARCHAR\",\"funding_rate\":\"VARCHAR\",
           \"quanto_multiplier\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "mark_price", "vol24h_quote", "open_contracts"]) }}
from {{ read("recorded", fields) }}
where key <> 'btc' or _multiplier is null
