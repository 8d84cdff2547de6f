{%- set fields = {
    "symbol": word("r.symbol"),
    "mark_price": price("r.markprice", zero="kept"),
    "index_price": price("r.indexprice", zero="none"),
    "funding_rate": rate("r.lastfundingrate"),
    "next_funding_ms": time_ms("r.nextfundingtime"),
} %}
with recorded as (
    {{ recorded('binance', 'funding', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",\"lastFundingRate\":\"VARCHAR\",
           \"nextFundingTime\":\"VARCHAR\"}]')") }}
),

intervals as (
    select * from {{ ref('stg_binance__funding_intervals') }} where reject is null
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    case
        when tick_ms in (select i.tick_ms from intervals as i) then
            coalesce((select any_value(i.interval_h) from intervals as i where i.tick_ms = recorded.tick_ms and i.symbol = r.symbol), 8)
    end as interval_h,
    {{ measured(fields, required=["symbol", "mark_price", "funding_rate", "next_funding_ms"]) }}
from {{ read("recorded", fields) }} as recorded
where not {{ binance_is_dated("r.symbol") }} and coalesce(r.nextfundingtime, '') <> '0'
