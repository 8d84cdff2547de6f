{%- set fields = {
    "expiry_ms": time_ms("r.expiration_timestamp"),
    "listed_ms": time_ms("r.creation_timestamp"),
    "instrument": word("r.instrument_name"),
    "strike": price("r.strike"),
    "contract_size": contract_size("r.contract_size"),
} %}
with recorded as (
    {{ recorded('deribit', 'option_instruments', "from_json(body -> '$.result',
        '[{\"instrument_name\":\"VARCHAR\",\"kind\":\"VARCHAR\",\"base_currency\":\"VARCHAR\",\"quote_currency\":\"VARCHAR\",
           \"settlement_currency\":\"VARCHAR\",\"expiration_timestamp\":\"VARCHAR\",\"creation_timestamp\":\"VARCHAR\",
           \"strike\":\"VARCHAR\",\"option_type\":\"VARCHAR\",\"contract_size\":\"VARCHAR\",\"is_active\":\"BOOLEAN\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.base_currency as coin,
    r.option_type as option_type,
    -- Bodies of 2021 do not name the settlement currency; the premium is paid in it.
    coalesce(r.settlement_currency, r.quote_currency) as settle,
    case when r.is_active then 'trading' else 'halted' end as status,
    {{ measured(fields, required=["instrument", "coin", "expiry_ms", "strike", "option_type", "contract_size"]) }}
from {{ read("recorded", fields) }}
where r is null or (r.kind = 'option' and coin in ('BTC', 'ETH'))
