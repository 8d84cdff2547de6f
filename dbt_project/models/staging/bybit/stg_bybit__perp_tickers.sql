{#- Sizes of inverse perps are in USD. -#}
{%- set unit = "case when ends_with(symbol, 'USD') then nullif(mark_price, 0) else 1 end" %}
{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "mark_price": price("r.markprice", zero="kept"),
    "index_price": price("r.indexprice", zero="none"),
    "vol24h_quote": amount("case when ends_with(r.symbol, 'USD') then r.volume24h else r.turnover24h end"),
    "funding_rate": rate("r.fundingrate"),
    "interval_h": hours("r.fundingintervalhour"),
    "_both_sides": size("r.openinterest"),
    "_one_side": size("r.singleopeninterest"),
    "open_interest": within("_both_sides / " ~ unit, "size"),
    "single_open_interest": within("_one_side / " ~ unit, "size"),
} %}
with recorded as (
    {{ recorded('bybit', 'perp_tickers', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",
           \"turnover24h\":\"VARCHAR\",\"volume24h\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingIntervalHour\":\"VARCHAR\",
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
