{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.basecurrency"),
    "quote": word("r.quotecurrency"),
    "listed_ms": time_ms("r.firstopendate"),
    "delisted_ms": time_ms("r.expiredate"),
    "contract_size": contract_size("r.multiplier", "abs({})"),
    "interval_h": hours("coalesce(r.currentfundingrategranularity, r.fundingrategranularity)", "{} / 3600000"),
} %}
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
    r.settlecurrency as settle,
    r.type as contract_type,
    case
        when r.status in ('BeingSettled', 'Settled', 'Closed') then 'delisted'
        when r.status = 'Init' then 'prelaunch'
        when r.status <> 'Open' then 'halted'
        else 'trading'
    end as status,
    r.isinverse = 'true' as inverse,
    list_filter([r.assetclass, nullif(r.marketstage, 'NORMAL')], word -> word <> '') as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote", "contract_size"]) }}
from {{ read("recorded", fields) }}
where r is null or coalesce(r.type, 'FFWCSX') = 'FFWCSX'
