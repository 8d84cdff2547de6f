-- contract_stats: users that are long among users with a position; one row per bucket. time is the
-- start of the bucket, in seconds; the running bucket, the newest, is left out. The contract is the request's key.
with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"time\":\"VARCHAR\",\"lsr_account\":\"VARCHAR\",\"long_users\":\"VARCHAR\",\"short_users\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.time as bigint) * 1000 as t,
    case params ->> '$.interval'
        when '1m' then 60000 when '5m' then 300000 when '15m' then 900000 when '1h' then 3600000 when '4h' then 14400000
        when '1d' then 86400000
    end::bigint as period_ms,
    -- The ratio alone was published until the counts were added.
    coalesce(
        try_cast(r.long_users as double) / (try_cast(r.long_users as double) + try_cast(r.short_users as double)),
        try_cast(r.lsr_account as double) / (1 + try_cast(r.lsr_account as double))
    ) as long_fraction,
    {{ reject(['t', 'period_ms', 'long_fraction']) }}
from recorded
where r is null or (coalesce(try_cast(r.long_users as double) + try_cast(r.short_users as double) > 0, true)
    and coalesce(t + period_ms <= tick_ms, true))
