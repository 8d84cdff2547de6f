with recorded as (
    {{ recorded('mexc', 'perp_bars', "list_transform(list_zip(
        from_json(body -> '$.data.time', '[\"VARCHAR\"]'),
        from_json(body -> '$.data.open', '[\"VARCHAR\"]'),
        from_json(body -> '$.data.high', '[\"VARCHAR\"]'),
        from_json(body -> '$.data.low', '[\"VARCHAR\"]'),
        from_json(body -> '$.data.close', '[\"VARCHAR\"]'),
        from_json(body -> '$.data.vol', '[\"VARCHAR\"]'),
        from_json(body -> '$.data.amount', '[\"VARCHAR\"]')),
        lambda bar: [bar[1], bar[2], bar[3], bar[4], bar[5], bar[6], bar[7]])",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r[1] as bigint) * 1000 as opened_ms,
    opened_ms
    + try_cast(regexp_extract(params ->> '$.interval', '[0-9]+$') as bigint)
        * case regexp_extract(params ->> '$.interval', '^[A-Za-z]+')
            when 'Min' then 60000 when 'Hour' then 3600000 when 'Day' then 86400000
        end - 1 as closed_ms,
    try_cast(r[2] as double) as open,
    try_cast(r[3] as double) as high,
    try_cast(r[4] as double) as low,
    try_cast(r[5] as double) as close,
    try_cast(r[6] as double) as volume_contracts,
    case when not ends_with(key, '_USD') then try_cast(r[7] as double) end as turnover,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'close', 'volume_contracts']) }}
from recorded
