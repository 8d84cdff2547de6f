{%- set fields = {
    "t": time_ms("r.t", past=true),
    "symbol": word("r.position ->> '$.coin'"),
    "size": number("r.position ->> '$.szi'", "signed_size"),
    "entry_price": price("r.position ->> '$.entryPx'"),
    "liquidation_price": price("r.position ->> '$.liquidationPx'"),
    "leverage": number("r.position ->> '$.leverage.value'", "leverage"),
    "margin_used_usd": amount("r.position ->> '$.marginUsed'"),
    "position_value_usd": amount("r.position ->> '$.positionValue'"),
    "account_value_usd": balance("r.account_value"),
} %}
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
    r.position ->> '$.leverage.type' as margin_mode,
    {{ measured(fields, required=["wallet", "symbol", "t", "size", "position_value_usd"]) }}
from {{ read("recorded", fields) }}
