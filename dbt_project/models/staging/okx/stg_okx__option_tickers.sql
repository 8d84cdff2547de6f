with recorded as (
    {{ recorded('okx', 'option_tickers', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"markVol\":\"VARCHAR\",\"bidVol\":\"VARCHAR\",\"askVol\":\"VARCHAR\",\"fwdPx\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as instrument,
    split_part(r.instid, '-', 1) as coin,
    -- Options expire at 08:00 UTC.
    epoch_ms(try_strptime(split_part(r.instid, '-', 3), '%y%m%d')) + 28800000 as expiry_ms,
    try_cast(split_part(r.instid, '-', 4) as double) as strike,
    case split_part(r.instid, '-', 5) when 'C' then 'call' when 'P' then 'put' end as option_type,
    nullif(try_cast(r.markvol as double), 0) as mark_iv,
    nullif(try_cast(r.bidvol as double), 0) as bid_iv,
    nullif(try_cast(r.askvol as double), 0) as ask_iv,
    try_cast(r.fwdpx as double) as forward,
    {{ reject(['instrument', 'expiry_ms', 'strike', 'option_type']) }}
from recorded
