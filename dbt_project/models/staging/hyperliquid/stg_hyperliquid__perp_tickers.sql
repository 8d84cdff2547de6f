with recorded as (
    {{ recorded('hyperliquid', 'perp_tickers', "case
            when json_array_length(body, '$[0].universe') = json_array_length(body, '$[1]') then
                list_transform(
                    list_zip(
                        from_json(body -> '$[0].universe', '[{\"name\":\"VARCHAR\",\"isDelisted\":\"BOOLEAN\"}]'),
                        from_json(body -> '$[1]', '[{\"markPx\":\"VARCHAR\",\"midPx\":\"VARCHAR\",\"oraclePx\":\"VARCHAR\",
                            \"dayNtlVlm\":\"VARCHAR\",\"funding\":\"VARCHAR\",\"openInterest\":\"VARCHAR\"}]')
                    ),
                    lambda z: {'coin': z[1], 'ctx': z[2], 'collateral': body ->> '$[0].collateralToken'}
                )
        end", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.coin.name as symbol,
    try_cast(r.ctx.markpx as double) as mark_price,
    coalesce(try_cast(r.ctx.midpx as double), mark_price) as last_price,
    try_cast(r.ctx.oraclepx as double) as index_price,
    try_cast(r.ctx.dayntlvlm as double) as vol24h_usd,
    try_cast(r.ctx.funding as double) as funding_rate,
    1.0::double as interval_h,
    try_cast(r.ctx.openinterest as double) as open_interest,
    {{ reject(['symbol', 'mark_price', 'vol24h_usd', 'funding_rate', 'open_interest']) }}
from recorded
where not coalesce(r.coin.isdelisted, false)
