{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lasttradeprice", zero="kept"),
    "mark_price": price("r.markprice", zero="kept"),
    "index_price": price("r.indexprice", zero="none"),
    "open_contracts": size("r.openinterest"),
    "funding_rate": rate("r.fundingfeerate"),
    "next_funding_ms": time_ms("r.nextfundingratedatetime"),
    "vol24h_quote": amount("case when r.isinverse = 'true' then r.volumeof24h else r.turnoverof24h end"),
    "interval_h": hours("coalesce(r.currentfundingrategranularity, r.fundingrategranularity)", "{} / 3600000"),
} %}
with recorded as (
    {{ recorded('kucoin', 'perp_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"type\":\"VARCHAR\",\"status\":\"VARCHAR\",\"isInverse\":\"VARCHAR\",
           \"lastTradePrice\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",\"volumeOf24h\":\"VARCHAR\",
           \"turnoverOf24h\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",\"fundingFeeRate\":\"VARCHAR\",
           \"fundingRateGranularity\":\"VARCHAR\",\"currentFundingRateGranularity\":\"VARCHAR\",
           \"nextFundingRateDateTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "mark_price", "vol24h_quote", "open_contracts"]) }}
from {{ read("recorded", fields) }}
where r is null or (coalesce(r.type, 'FFWCSX') = 'FFWCSX' and coalesce(r.status, 'Open') = 'Open')
