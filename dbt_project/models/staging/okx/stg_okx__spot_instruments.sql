{%- set fields = {
    "symbol": word("r.instid"),
    "listed_ms": time_ms("r.listtime"),
    "delisted_ms": time_ms("r.exptime"),
} %}
with recorded as (
    {{ recorded('okx', 'spot_instruments', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"baseCcy\":\"VARCHAR\",\"quoteCcy\":\"VARCHAR\",\"state\":\"VARCHAR\",
           \"listTime\":\"VARCHAR\",\"expTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    coalesce(nullif(r.baseccy, ''), nullif(split_part(r.instid, '-', 1), '')) as base_raw,
    coalesce(nullif(r.quoteccy, ''), nullif(split_part(r.instid, '-', 2), '')) as quote,
    case r.state when 'live' then 'trading' when 'preopen' then 'prelaunch' else 'halted' end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
where coalesce(r.insttype, 'SPOT') = 'SPOT'
