{%- set fields = {
    "symbol": word("r.instid"),
    "funding_rate": rate("r.fundingrate"),
    "next_funding_ms": time_ms("r.fundingtime"),
    "_following_ms": time_ms("r.nextfundingtime"),
    "interval_h": within("(_following_ms - next_funding_ms) / 3600000", "hours"),
} %}
with recorded as (
    {{ recorded('okx', 'funding', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\",
           \"nextFundingTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "funding_rate"]) }}
from {{ read("recorded", fields) }}
where r is null or (coalesce(r.insttype, 'SWAP') = 'SWAP' and r.fundingrate is distinct from '')
