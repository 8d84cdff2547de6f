-- Identity and latest metadata of every market. A token means itself and one coin unless the seed `symbols` says
-- otherwise: never a pattern. Rows are rewritten when they change, and once an hour to move seen_ms on.
{{ config(incremental_strategy='replace_keys', replace_keys=['market_id']) }}
with published as (
    select 'binance' as venue, 'perp' as type, tick_ms, symbol, base_raw, quote, contract_type, status, listed_ms, delisted_ms, false as hip3, category
    from {{ ref('stg_binance__instruments') }} where reject is null
    union all by name
    select 'binance' as venue, 'spot' as type, tick_ms, symbol, base_raw, quote, status, false as hip3
    from {{ ref('stg_binance__spot_instruments') }} where reject is null
    union all by name
    select 'bybit' as venue, 'perp' as type, tick_ms, symbol, base_raw, quote, contract_type, status, listed_ms, delisted_ms, false as hip3, category
    from {{ ref('stg_bybit__instruments') }} where reject is null
    union all by name
    select 'bybit' as venue, 'spot' as type, tick_ms, symbol, base_raw, quote, status, false as hip3
    from {{ ref('stg_bybit__spot_instruments') }} where reject is null
    union all by name
    select
        'hyperliquid' as venue, 'perp' as type, t.tick_ms, t.symbol, t.symbol as base_raw,
        -- Collateral that the seed does not name stays the venue's number.
        coalesce(c.quote, 'token:' || t.collateral_token) as quote,
        case when t.is_delisted then 'delisted' else 'trading' end as status, t.hip3
    from {{ ref('stg_hyperliquid__perp_tickers') }} as t
    left join {{ ref('collateral_tokens') }} as c on c.venue = 'hyperliquid' and t.collateral_token = c.token
    where t.reject is null
    union all by name
    select 'hyperliquid' as venue, 'spot' as type, tick_ms, symbol, base_raw, quote, false as hip3
    from {{ ref('stg_hyperliquid__spot_tickers') }} where reject is null
),

newest as (
    select *, true as metadata
    from published
    qualify row_number() over (partition by venue, type, symbol order by tick_ms desc) = 1
),

mentioned as (
    {% for venue, type, model in [
        ('binance', 'perp', 'perp_tickers'), ('binance', 'perp', 'funding'), ('binance', 'perp', 'open_interest'),
        ('binance', 'perp', 'perp_bars'), ('binance', 'perp', 'liquidations'), ('binance', 'spot', 'spot_tickers'),
        ('binance', 'spot', 'spot_bars'), ('bybit', 'perp', 'perp_tickers'), ('bybit', 'perp', 'perp_bars'),
        ('bybit', 'perp', 'liquidations'), ('bybit', 'spot', 'spot_tickers'), ('bybit', 'spot', 'spot_bars'),
        ('hyperliquid', 'perp', 'perp_bars'),
    ] %}
    select '{{ venue }}' as venue, '{{ type }}' as type, symbol, min(tick_ms) as tick_ms
    from {{ ref('stg_' ~ venue ~ '__' ~ model) }}
    where reject is null
    group by symbol
    {{ "union all" if not loop.last }}
    {% endfor %}
),

-- Symbols without metadata: the longest quote currency that ends the symbol, where the venue writes symbols so.
guessed as (
    select
        m.venue, m.type, m.symbol, min(m.tick_ms) as tick_ms,
        max_by(q.quote, length(q.quote)) as quote,
        left(m.symbol, length(m.symbol) - coalesce(max(length(q.quote)), 0)) as base_raw,
        m.venue = 'hyperliquid' and contains(m.symbol, ':') as hip3,
        false as metadata
    from mentioned as m
    anti join newest as n on m.venue = n.venue and m.type = n.type and m.symbol = n.symbol
    left join {{ ref('venues') }} as v on m.venue = v.venue
    left join {{ ref('quotes') }} as q
        on v.symbol_has_quote and ends_with(m.symbol, q.quote) and length(m.symbol) > length(q.quote)
    group by m.venue, m.type, m.symbol
),

known as (
    select * from newest
    union all by name
    select * from guessed
),

identified as (
    select
        k.venue || ':' || k.type || ':' || k.symbol as market_id,
        k.venue,
        k.type,
        k.symbol,
        k.base_raw,
        k.quote,
        -- Anybody may deploy a Hyperliquid spot token under any ticker: without a row in the seed it is no known coin.
        coalesce(
            s.base,
            case when k.venue = 'hyperliquid' and k.type = 'spot' then 'hyperliquid:' end || k.base_raw,
            k.base_raw
        ) as base,
        coalesce(s.multiplier, 1)::double as multiplier,
        k.contract_type,
        k.status,
        k.listed_ms::bigint as listed_ms,
        k.delisted_ms::bigint as delisted_ms,
        k.hip3,
        coalesce(q.usd_like, false) and not k.hip3 as aggregated,
        coalesce(q.usd_like, false) as usd_like,
        coalesce(k.category, [])::varchar[] as category,
        k.metadata,
        k.tick_ms as seen_ms
    from known as k
    left join {{ ref('quotes') }} as q on k.quote = q.quote
    left join {{ ref('symbols') }} as s on s.venue in (k.venue, '*') and k.base_raw = s.symbol_base
    qualify row_number() over (partition by k.venue, k.type, k.symbol order by s.venue = '*') = 1
)

select new.*
from identified as new
{% if is_incremental() %}
left join {{ this }} as old on new.market_id = old.market_id
where
    old.market_id is null
    or (new.metadata and not old.metadata)
    or (
        new.metadata = old.metadata
        and (not new.metadata or new.seen_ms >= old.seen_ms)
        and (
            (new.metadata and new.seen_ms >= old.seen_ms + 3600000)
            or (new.base_raw, new.quote, new.base, new.multiplier, new.contract_type, new.status, new.listed_ms,
                new.delisted_ms, new.hip3, new.aggregated, new.usd_like, new.category)
            is distinct from (old.base_raw, old.quote, old.base, old.multiplier, old.contract_type, old.status, old.listed_ms,
                old.delisted_ms, old.hip3, old.aggregated, old.usd_like, old.category)
        )
    )
{% endif %}
