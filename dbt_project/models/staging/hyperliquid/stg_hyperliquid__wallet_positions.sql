{%- set states = "case
            when json_array_length(body) = json_array_length(params, '$.users') then
                flatten(list_transform(
                    list_zip(from_json(params -> '$.users', '[\"VARCHAR\"]'), from_json(body, '[\"JSON\"]')),
                    lambda z: case when json_type(z[2]) = 'OBJECT' then list_transform(
                        from_json(z[2] -> '$.assetPositions', '[\"JSON\"]'),
                        lambda p: {'wallet': z[1], 't': z[2] ->> '$.time', 'position': p -> '$.position',
                            'account_value': z[2] ->> '$.marginSummary.accountValue'}
                    ) else [{'wallet': z[1], 't': null, 'position': null, 'account_value': null}] end
                ))
        end" %}
with recorded as (
    {{ recorded('hyperliquid', 'wallet_positions', states, may_be_empty=true) }}
    union all
    {{ recorded('hyperliquid', 'dex_positions', states, may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    lower(r.wallet) as wallet,
    try_cast(r.t as bigint) as t,
    r.position ->> '$.coin' as symbol,
    try_cast(r.position ->> '$.szi' as double) as size,
    try_cast(r.position ->> '$.entryPx' as double) as entry_price,
    try_cast(r.position ->> '$.liquidationPx' as double) as liquidation_price,
    try_cast(r.position ->> '$.leverage.value' as double) as leverage,
    r.position ->> '$.leverage.type' as margin_mode,
    try_cast(r.position ->> '$.marginUsed' as double) as margin_used_usd,
    try_cast(r.position ->> '$.positionValue' as double) as position_value_usd,
    try_cast(r.account_value as double) as account_value_usd,
    {{ reject(['wallet', 'symbol', 't', 'size', 'position_value_usd']) }}
from recorded
