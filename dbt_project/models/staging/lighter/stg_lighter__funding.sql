{%- set fields = {
    "symbol": word("r.symbol"),
    "funding_rate": rate("r.rate", "{} / 8"),
} %}
with recorded as (
    {{ recorded('lighter', 'funding', "from_json(body -> '$.funding_rates',
        '[{\"exchange\":\"VARCHAR\",\"symbol\":\"VARCHAR\",\"rate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    1.0::double as interval_h,
    {{ measured(fields, required=["symbol", "funding_rate"]) }}
from {{ read("recorded", fields) }}
where r is null or r.exchange = 'lighter'
