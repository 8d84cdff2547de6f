{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "mark_price": price("r.markprice", zero="kept"),
    "index_price": price("r.indexprice", zero="none"),
    "vol24h_quote": amount("r.turnover24h"),
    "open_interest": size("r.openinterest"),
    "funding_rate": rate("r.fundingrate"),
} %}
with recorded as (
    {{ recorded('bitget', 'perp_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",
           \"indexPrice\":\"VARCHAR\",\"turnover24h\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",
           \"fundingRate\":\"VARCHAR\",\"deliveryTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where coalesce(nullif(r.deliverytime, ''), '0') = '0'
