with recorded as (
    {{ recorded('mexc', 'instruments', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",\"quoteCoin\":\"VARCHAR\",
           \"settleCoin\":\"VARCHAR\",\"futureType\":\"VARCHAR\",\"contractSize\":\"VARCHAR\",
           \"state\":\"VARCHAR\",\"openingTime\":\"VARCHAR\",\"createTime\":\"VARCHAR\",
           \"deliveryTime\":\"VARCHAR\",\"conceptPlate\":[\"VARCHAR\"]}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    r.basecoin as base_raw,
    r.quotecoin as quote,
    r.settlecoin as settle,
    case r.futuretype when '1' then 'perpetual' else r.futuretype end as contract_type,
    coalesce(nullif(try_cast(r.openingtime as bigint), 0), try_cast(r.createtime as bigint)) as listed_ms,
    case
        when r.state = '0' and listed_ms > received_ms then 'prelaunch'
        when r.state = '0' then 'trading'
        when r.state in ('1', '4') then 'halted'
        when r.state in ('2', '3') then 'delisted'
    end as status,
    nullif(try_cast(r.deliverytime as bigint), 0) as delisted_ms,
    try_cast(r.contractsize as double) as contract_size,
    r.settlecoin = r.basecoin as inverse,
    false as hip3,
    coalesce(list_transform(r.conceptplate, lambda word: replace(word, 'mc-trade-zone-', '')), []) as category,
    {{ reject(['symbol', 'base_raw', 'quote', 'contract_size']) }}
from recorded
