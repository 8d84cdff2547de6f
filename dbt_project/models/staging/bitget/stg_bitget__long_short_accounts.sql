with recorded as (
    {{ recorded('bitget', 'long_short_accounts', "case when body ->> '$.code' = '40054' then [] else from_json(body -> '$.data',
        '[{\"longAccountRatio\":\"VARCHAR\",\"ts\":\"VARCHAR\"}]') end",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.ts as bigint) as t,
    try_cast(regexp_extract(params ->> '$.period', '^[0-9]+') as bigint)
    * case regexp_extract(params ->> '$.period', '^[0-9]+(.)', 1)
        when 'm' then 60000 when 'h' then 3600000 when 'H' then 3600000 when 'd' then 86400000 when 'D' then 86400000
    end::bigint as period_ms,
    try_cast(r.longaccountratio as double) as long_fraction,
    {{ reject(['t', 'period_ms', 'long_fraction']) }}
from recorded
