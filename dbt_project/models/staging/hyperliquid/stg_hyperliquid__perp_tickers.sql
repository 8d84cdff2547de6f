{#- A funding rate is at most 4 % an hour, by the venue's documents. -#}
{%- set fields = {
    "symbol": word("r.coin.name"),
    "mark_price": price("r.ctx.markpx", zero="kept"),
    "index_price": price("r.ctx.oraclepx", zero="none"),
    "vol24h_usd": amount("r.ctx.dayntlvlm"),
    "funding_rate": rate("r.ctx.funding", most=0.04),
    "open_interest": size("r.ctx.openinterest"),
    "last_price": price("coalesce(r.ctx.midpx, r.ctx.markpx)", zero="kept"),
} %}
with recorded as (
    {{ recorded('hyperliquid', 'perp_tickers', "case
            when json_array_length(body, '$[0].universe') = json_array_length(body, '$[1]') then
                list_transform(
                    list_zip(
                        from_json(body -> '$[0].universe', '[{\"name\":\"VARCHAR\",\"isDelisted\":\"BOOLEAN\"}]'),
                        from_json(body -> '$[1]', '[{\"markPx\":\"VARCHAR\",\"midPx\":\"VARCHAR\",\"oraclePx\":\"VARCHAR\",
                            \"dayNtlVlm\":\"VARCHAR\",\"funding\":\"VARCHAR\",\"openInterest\":\"VARCHAR\"}]')
                    ),
                    lambda z: {'coin': z[1], 'ctx': z[2]}
                )
        end", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    1.0::double as interval_h,
    {{ measured(fields, required=["symbol", "mark_price", "vol24h_usd", "funding_rate", "open_interest"]) }}
from {{ read("recorded", fields) }}
where not coalesce(r.coin.isdelisted, false)
