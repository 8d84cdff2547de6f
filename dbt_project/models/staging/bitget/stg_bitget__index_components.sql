with recorded as (
    {{ recorded('bitget', 'index_components', "from_json(body -> '$.data.componentList',
        '[{\"exchange\":\"VARCHAR\",\"spotPair\":\"VARCHAR\",\"weight\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    lower(r.exchange) as exchange,
    r.spotpair as pair,
    try_cast(r.weight as double) as weight,
    {{ reject(['exchange', 'pair']) }}
from recorded
