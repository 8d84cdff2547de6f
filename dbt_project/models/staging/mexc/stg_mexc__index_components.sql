-- indexOrigin of contract/detail; one row per exchange that a perp's index is made of. Neither weights nor pairs are
-- published.
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
    r.symbol as symbol,
    lower(origin) as exchange,
    null::varchar as pair,
    null::double as weight,
    {{ reject(['symbol', 'exchange']) }}
from origins
