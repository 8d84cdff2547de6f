{%- set fields = {
    "symbol": word("r.symbol"),
    "open_interest": size("case when not " ~ binance_is_coin_margined("r.symbol") ~ " then r.openinterest end"),
    "open_contracts": size("case when " ~ binance_is_coin_margined("r.symbol") ~ " then r.openinterest end"),
} %}
with recorded as (
    {{ recorded('binance', 'open_interest', "[from_json(body,
        '{\"symbol\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",\"time\":\"VARCHAR\"}')]") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "coalesce(open_interest, open_contracts)"]) }}
from {{ read("recorded", fields) }}
where not {{ binance_is_dated("r.symbol") }}
