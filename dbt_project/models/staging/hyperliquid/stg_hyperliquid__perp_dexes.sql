with recorded as (
    {{ recorded('hyperliquid', 'perp_dexes', "list_filter(from_json(body,
        '[{\"name\":\"VARCHAR\",\"fullName\":\"VARCHAR\"}]'), lambda d: d is not null)", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.name as dex,
    r.fullname as full_name,
    {{ reject(['dex']) }}
from recorded
