{%- set fields = {
    "symbol": word("r.symbol"),
    "mark_price": price("r.markprice", zero="kept"),
    "index_price": price("r.indexprice", zero="none"),
    "funding_rate": rate("r.lastfundingrate"),
    "next_funding_ms": time_ms("r.nextfundingtime"),
} %}
with recorded as (
    {{ recorded('aster', 'funding', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",\"lastFundingRate\":\"VARCHAR\",
           \"nextFundingTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "mark_price", "funding_rate", "next_funding_ms"]) }}
from {{ read("recorded", fields) }}
where not starts_with(coalesce(r.symbol, ''), 'TEST') and coalesce(r.nextfundingtime, '') <> '0'
