with recorded as (
    {{ recorded('okx', 'instruments', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"uly\":\"VARCHAR\",\"settleCcy\":\"VARCHAR\",\"ctType\":\"VARCHAR\",
           \"ctVal\":\"VARCHAR\",\"ctMult\":\"VARCHAR\",\"state\":\"VARCHAR\",\"listTime\":\"VARCHAR\",
           \"expTime\":\"VARCHAR\",\"instCategory\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as symbol,
    coalesce(nullif(split_part(r.uly, '-', 1), ''), nullif(split_part(r.instid, '-', 1), '')) as base_raw,
    -- BTC-USD_UM-SWAP is quoted in USD.
    coalesce(
        nullif(split_part(r.uly, '-', 2), ''), nullif(split_part(split_part(r.instid, '-', 2), '_', 1), '')
    ) as quote,
    nullif(r.settleccy, '') as settle,
    nullif(r.cttype, '') as contract_type,
    case r.state when 'live' then 'trading' when 'preopen' then 'prelaunch' else 'halted' end as status,
    try_cast(r.listtime as bigint) as listed_ms,
    try_cast(r.exptime as bigint) as delisted_ms,
    try_cast(r.ctval as double) * try_cast(r.ctmult as double) as contract_size,
    coalesce(r.cttype = 'inverse', false) as inverse,
    case r.instcategory
        when '3' then ['stocks'] when '4' then ['commodities'] when '5' then ['fx'] when '6' then ['bonds'] else []
    end as category,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
where coalesce(r.insttype, 'SWAP') = 'SWAP'
