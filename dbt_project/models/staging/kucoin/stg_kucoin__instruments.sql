with recorded as (
    {{ recorded('kucoin', 'perp_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"type\":\"VARCHAR\",\"status\":\"VARCHAR\",\"isInverse\":\"VARCHAR\",
           \"baseCurrency\":\"VARCHAR\",\"quoteCurrency\":\"VARCHAR\",\"settleCurrency\":\"VARCHAR\",
           \"multiplier\":\"VARCHAR\",\"firstOpenDate\":\"VARCHAR\",\"expireDate\":\"VARCHAR\",\"assetClass\":\"VARCHAR\",
           \"marketStage\":\"VARCHAR\",\"fundingRateGranularity\":\"VARCHAR\",
           \"currentFundingRateGranularity\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    r.basecurrency as base_raw,
    r.quotecurrency as quote,
    r.settlecurrency as settle,
    r.type as contract_type,
    case
        when r.status in ('BeingSettled', 'Settled', 'Closed') then 'delisted'
        when r.status = 'Init' then 'prelaunch'
        when r.status <> 'Open' then 'halted'
        else 'trading'
    end as status,
    nullif(try_cast(r.firstopendate as bigint), 0) as listed_ms,
    nullif(try_cast(r.expiredate as bigint), 0) as delisted_ms,
    abs(try_cast(r.multiplier as double)) as contract_size,
    r.isinverse = 'true' as inverse,
    list_filter([r.assetclass, nullif(r.marketstage, 'NORMAL')], word -> word <> '') as category,
    nullif(coalesce(try_cast(r.currentfundingrategranularity as double), try_cast(r.fundingrategranularity as double)), 0)
    / 3600000 as interval_h,
    {{ reject(['symbol', 'base_raw', 'quote', 'contract_size']) }}
from recorded
where r is null or coalesce(r.type, 'FFWCSX') = 'FFWCSX'
