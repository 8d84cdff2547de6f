{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "mark_price": price("r.fairprice", zero="kept"),
    "index_price": price("r.indexprice", zero="none"),
    "open_contracts": size("r.holdvol"),
    "funding_rate": rate("r.fundingrate"),
    "_amount": amount("r.amount24"),
    "vol24h_quote": within("_amount * case when ends_with(r.symbol, '_USD') then mark_price else 1 end", "amount"),
} %}
with recorded as (
    {{ recorded('mexc', 'perp_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"fairPrice\":\"VARCHAR\",
           \"indexPrice\":\"VARCHAR\",\"amount24\":\"VARCHAR\",\"holdVol\":\"VARCHAR\",
           \"fundingRate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "mark_price", "vol24h_quote", "open_contracts"]) }}
from {{ read("recorded", fields) }}
