{%- set fields = {
    "ts": time_ms("r.timestamp", past=true),
    "_rate": price("r.baseprice"),
    "_units": price("coalesce(r.currencyunit, '1')"),
    "rate": "_rate / _units",
} %}
with recorded as (
    {{ recorded('fx', 'fx_rates', "from_json(body,
        '[{\"code\":\"VARCHAR\",\"basePrice\":\"VARCHAR\",\"currencyUnit\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    case r.code when 'FRX.KRWUSD' then 'USD/KRW' end as pair,
    'dunamu' as source,
    {{ measured(fields, required=["pair", "rate", "ts"]) }}
from {{ read("recorded", fields) }}
