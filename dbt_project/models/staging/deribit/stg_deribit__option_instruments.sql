with recorded as (
    {{ recorded('deribit', 'option_instruments', "from_json(body -> '$.result',
        '[{\"instrument_name\":\"VARCHAR\",\"kind\":\"VARCHAR\",\"base_currency\":\"VARCHAR\",\"quote_currency\":\"VARCHAR\",
           \"settlement_currency\":\"VARCHAR\",\"expiration_timestamp\":\"BIGINT\",\"creation_timestamp\":\"BIGINT\",
           \"strike\":\"VARCHAR\",\"option_type\":\"VARCHAR\",\"contract_size\":\"VARCHAR\",\"is_active\":\"BOOLEAN\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.instrument_name as instrument,
    r.base_currency as coin,
    r.expiration_timestamp as expiry_ms,
    try_cast(r.strike as double) as strike,
    r.option_type as option_type,
    try_cast(r.contract_size as double) as contract_size,
    -- Bodies of 2021 do not name the settlement currency; the premium is paid in it.
    coalesce(r.settlement_currency, r.quote_currency) as settle,
    r.creation_timestamp as listed_ms,
    case when r.is_active then 'trading' else 'halted' end as status,
    {{ reject(['instrument', 'coin', 'expiry_ms', 'strike', 'option_type', 'contract_size']) }}
from recorded
where r is null or (r.kind = 'option' and coin in ('BTC', 'ETH'))
