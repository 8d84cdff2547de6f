{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.basecoin"),
    "quote": word("r.quotecoin"),
    "delisted_ms": time_ms("r.deliverytime"),
    "contract_size": contract_size("r.contractsize"),
    "listed_ms": time_ms("coalesce(nullif(r.openingtime, '0'), r.createtime)"),
} %}
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
    r.settlecoin as settle,
    case r.futuretype when '1' then 'perpetual' else r.futuretype end as contract_type,
    r.settlecoin = r.basecoin as inverse,
    false as hip3,
    coalesce(list_transform(r.conceptplate, lambda word: replace(word, 'mc-trade-zone-', '')), []) as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote", "contract_size"]) }},
    case
        when r.state = '0' and listed_ms > received_ms then 'prelaunch'
        when r.state = '0' then 'trading'
        when r.state in ('1', '4') then 'halted'
        when r.state in ('2', '3') then 'delisted'
    end as status
from {{ read("recorded", fields) }}
