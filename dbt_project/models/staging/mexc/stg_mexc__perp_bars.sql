{%- set fields = {
    "opened_ms": time_ms("r[1]", "s", past=true),
    "closed_ms": bar_end(period_ms("params ->> '$.interval'")),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume_contracts": size("r[6]"),
    "turnover": amount("case when not ends_with(key, '_USD') then r[7] end"),
} %}
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
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "close", "volume_contracts"]) }}
from {{ read("recorded", fields) }}
