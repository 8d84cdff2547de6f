{%- set fields = {
    "_position_size": number("r.position_size", "signed_size"),
    "symbol": word("r.name"),
    "listed_ms": time_ms("coalesce(nullif(r.launch_time, '0'), r.create_time)", "s"),
    "delisted_ms": time_ms("coalesce(nullif(r.delisted_time, '0'), r.delisting_time)", "s"),
    "contract_size": contract_size("case when r.type = 'inverse' then '1' else r.quanto_multiplier end"),
    "interval_h": hours("r.funding_interval", "{} / 3600"),
} %}
with recorded as (
    {{ recorded('gate', 'instruments', "from_json(body,
        '[{\"name\":\"VARCHAR\",\"type\":\"VARCHAR\",\"quanto_multiplier\":\"VARCHAR\",\"funding_interval\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"in_delisting\":\"VARCHAR\",\"position_size\":\"VARCHAR\",\"launch_time\":\"VARCHAR\",
           \"create_time\":\"VARCHAR\",\"delisting_time\":\"VARCHAR\",\"delisted_time\":\"VARCHAR\",
           \"contract_type\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    left(r.name, length(r.name) - length(split_part(r.name, '_', -1)) - 1) as base_raw,
    split_part(r.name, '_', -1) as quote,
    case when r.type = 'inverse' then base_raw else quote end as settle,
    r.type as contract_type,
    case
        when r.status = 'delisted' or (r.in_delisting = 'true' and _position_size = 0) then 'delisted'
        when r.status = 'prelaunch' then 'prelaunch'
        when r.in_delisting = 'true' or coalesce(r.status, 'trading') <> 'trading' then 'halted'
        else 'trading'
    end as status,
    r.type = 'inverse' as inverse,
    case when r.contract_type <> '' then [r.contract_type] else []::varchar[] end as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote", "contract_size"]) }}
from {{ read("recorded", fields) }}
where key <> 'btc' or r.type = 'inverse' or r is null
