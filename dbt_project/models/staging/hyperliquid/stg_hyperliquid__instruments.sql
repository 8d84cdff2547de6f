{#- The token of a dex is read before its coins: beside each of them it would be looked for in the whole body again. -#}
{%- set fields = {
    "symbol": word("r.coin.name"),
    "base_raw": word("r.coin.name"),
} %}
with recorded as (
    {{ recorded('hyperliquid', 'perp_tickers', "case
            when json_array_length(body, '$[0].universe') = json_array_length(body, '$[1]') then
                list_transform(
                    [body ->> '$[0].collateralToken'],
                    lambda token: list_transform(
                        from_json(body -> '$[0].universe', '[{\"name\":\"VARCHAR\",\"isDelisted\":\"BOOLEAN\"}]'),
                        lambda coin: {'coin': coin, 'collateral': token}
                    )
                )[1]
        end", may_be_empty=true) }}
),

listed as (
    select *, coalesce(r.collateral, case when key = '' then '0' end) as collateral_token
    from recorded
)

select
    l.tick_ms,
    l.endpoint,
    l.key,
    l.requested_ms,
    l.received_ms,
    coalesce(c.quote, 'token:' || l.collateral_token) as quote,
    case when l.r.coin.isdelisted then 'delisted' else 'trading' end as status,
    l.key <> '' as hip3,
    {{ measured(fields, required=["symbol"]) }}
from {{ read("listed", fields) }} as l
left join {{ ref('collateral_tokens') }} as c on c.venue = 'hyperliquid' and l.collateral_token = c.token
