{#- That of COIN-M is named by its pair, and has contracts and coins. -#}
{%- set coin_margined = binance_is_coin_margined("key") %}
{%- set fields = {
    "symbol": word("coalesce(r.symbol, key)"),
    "_label": time_ms("r.timestamp", past=true),
    "t": binance_bucket_end("_label", "period_ms"),
    "open_interest": size("case when " ~ coin_margined ~ " then r.sumopeninterestvalue else r.sumopeninterest end"),
    "open_contracts": size("case when " ~ coin_margined ~ " then r.sumopeninterest end"),
    "open_interest_usd": amount("case when not " ~ coin_margined ~ " then r.sumopeninterestvalue end"),
} %}
with recorded as (
    {{ recorded('binance', 'open_interest_history', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"sumOpenInterest\":\"VARCHAR\",\"sumOpenInterestValue\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    {{ measured(fields, required=["symbol", "_label", "period_ms", "open_interest"]) }}
from {{ read("recorded", fields) }}
