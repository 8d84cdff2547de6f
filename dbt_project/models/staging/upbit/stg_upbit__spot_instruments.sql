with recorded as (
    {{ recorded('upbit', 'spot_instruments', "from_json(body, '[{\"market\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.market as symbol,
    nullif(split_part(r.market, '-', 2), '') as base_raw,
    nullif(split_part(r.market, '-', 1), '') as quote,
    'trading' as status,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
where coalesce(quote, 'KRW') = 'KRW'
