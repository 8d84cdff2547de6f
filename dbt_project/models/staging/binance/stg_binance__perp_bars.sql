{%- set coin_margined = binance_is_coin_margined("key") %}
{%- set fields = {
    "opened_ms": time_ms("r[1]", past=true),
    "closed_ms": time_ms("r[7]"),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("case when " ~ coin_margined ~ " then r[8] else r[6] end"),
    "volume_contracts": size("case when " ~ coin_margined ~ " then r[6] end"),
    "turnover": amount("case when not " ~ coin_margined ~ " then r[8] end"),
    "taker_buy_turnover": amount("case when not " ~ coin_margined ~ " then r[11] end"),
    "taker_buy_contracts": size("case when " ~ coin_margined ~ " then r[10] end"),
} %}
with recorded as (
    {{ recorded('binance', 'perp_bars', "from_json(body, '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "close", "volume", "coalesce(turnover, volume_contracts)",
        "coalesce(taker_buy_turnover, taker_buy_contracts)"]) }}
from {{ read("recorded", fields) }}
