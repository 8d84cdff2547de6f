{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "mark_price": price("r.markprice", zero="kept"),
    "index_price": price("r.indexprice", zero="none"),
    "vol24h_quote": amount("r.turnover24h"),
    "funding_rate": rate("r.fundingrate"),
    "interval_h": hours("r.fundingintervalhour"),
    "open_interest": size("r.openinterest"),
    "single_open_interest": size("r.singleopeninterest"),
} %}
with recorded as (
    {{ recorded('bybit', 'perp_tickers', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",
           \"turnover24h\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingIntervalHour\":\"VARCHAR\",
           \"openInterest\":\"VARCHAR\",\"singleOpenInterest\":\"VARCHAR\",\"deliveryTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "last_price", "mark_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where not contains(coalesce(r.symbol, ''), '-') and coalesce(nullif(r.deliverytime, ''), '0') = '0'
