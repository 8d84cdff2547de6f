{%- set fields = {
    "symbol": word("r.instid"),
    "listed_ms": time_ms("r.listtime"),
    "delisted_ms": time_ms("r.exptime"),
    "_value": contract_size("r.ctval"),
    "_multiplier": contract_size("r.ctmult"),
    "contract_size": within("_value * _multiplier", "contract_size"),
} %}
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
    coalesce(nullif(split_part(r.uly, '-', 1), ''), nullif(split_part(r.instid, '-', 1), '')) as base_raw,
    -- BTC-USD_UM-SWAP is quoted in USD.
    coalesce(
        nullif(split_part(r.uly, '-', 2), ''), nullif(split_part(split_part(r.instid, '-', 2), '_', 1), '')
    ) as quote,
    nullif(r.settleccy, '') as settle,
    nullif(r.cttype, '') as contract_type,
    case r.state when 'live' then 'trading' when 'preopen' then 'prelaunch' else 'halted' end as status,
    coalesce(r.cttype = 'inverse', false) as inverse,
    case r.instcategory
        when '3' then ['stocks'] when '4' then ['commodities'] when '5' then ['fx'] when '6' then ['bonds'] else []
    end as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote", "case when coalesce(r.ctval, '') = '' or contract_size > 0 then 1 end"]) }}
from {{ read("recorded", fields) }}
where coalesce(r.insttype, 'SWAP') = 'SWAP'
