{%- set fields = {
    "symbol": word("r.symbol"),
} %}
with recorded as (
    {{ recorded('mexc', 'instruments', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"indexOrigin\":[\"VARCHAR\"]}]')") }}
),

origins as (
    select *, unnest(case when r is null then [null] else coalesce(r.indexorigin, []) end) as origin
    from recorded
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    case lower(origin) when 'gateio' then 'gate' else lower(origin) end as exchange,
    null::varchar as pair,
    null::double as weight,
    {{ measured(fields, required=["symbol", "exchange"]) }}
from {{ read("origins", fields) }}
