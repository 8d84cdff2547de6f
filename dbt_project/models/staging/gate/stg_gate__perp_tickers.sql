with recorded as (
    {{ recorded('gate', 'perp_tickers', "from_json(body,
        '[{\"contract\":\"VARCHAR\",\"last\":\"VARCHAR\",\"mark_price\":\"VARCHAR\",\"index_price\":\"VARCHAR\",
           \"volume_24h_quote\":\"VARCHAR\",\"total_size\":\"VARCHAR\",\"funding_rate\":\"VARCHAR\",
           \"quanto_multiplier\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.contract as symbol,
    try_cast(r.last as double) as last_price,
    try_cast(r.mark_price as double) as mark_price,
    nullif(try_cast(r.index_price as double), 0) as index_price,
    try_cast(r.volume_24h_quote as double) as vol24h_quote,
    try_cast(r.total_size as double) as open_contracts,
    try_cast(r.funding_rate as double) as funding_rate,
    {{ reject(['symbol', 'last_price', 'mark_price', 'vol24h_quote', 'open_contracts']) }}
from recorded
where key <> 'btc' or coalesce(try_cast(r.quanto_multiplier as double), 0) = 0
