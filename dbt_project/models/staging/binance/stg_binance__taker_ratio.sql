{%- set fields = {
    "_label": time_ms("r.timestamp", past=true),
    "t": binance_bucket_end("_label", "period_ms") ~ " - period_ms",
    "taker_buy": size("coalesce(r.buyvol, r.takerbuyvol)"),
    "taker_sell": size("coalesce(r.sellvol, r.takersellvol)"),
} %}
with recorded as (
    {{ recorded('binance', 'taker_ratio', "from_json(body,
        '[{\"buyVol\":\"VARCHAR\",\"sellVol\":\"VARCHAR\",\"takerBuyVol\":\"VARCHAR\",
           \"takerSellVol\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    case when {{ binance_is_coin_margined("key") }} then 'contracts' else 'base' end as unit,
    {{ measured(fields, required=["_label", "period_ms", "taker_buy", "taker_sell"]) }}
from {{ read("recorded", fields) }}
