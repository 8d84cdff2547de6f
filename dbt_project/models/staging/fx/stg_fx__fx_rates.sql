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
    try_cast(r.baseprice as double) / coalesce(try_cast(r.currencyunit as double), 1) as rate,
    try_cast(r.timestamp as bigint) as ts,
    'dunamu' as source,
    {{ reject(['pair', 'rate', 'ts']) }}
from recorded
