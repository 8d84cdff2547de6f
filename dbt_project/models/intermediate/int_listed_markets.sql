-- A token means itself and one coin unless the seed `symbols` has a row for it; names are never matched by a pattern.
-- A row is rewritten when it changes, and once an hour to update seen_ms. Prices are compared in int_identity.
{{ config(incremental_strategy='replace_keys', replace_keys=['market_id']) }}
with newest as (
    select *, true as metadata
    from {{ ref('staged_instruments') }}
    where reject is null
    qualify row_number() over (partition by venue, type, symbol order by tick_ms desc) = 1
),

observed as (
    {% for model in ['staged_market_state', 'staged_bars', 'staged_liquidations'] %}
    select venue, type, symbol, min(tick_ms) as tick_ms
    from {{ ref(model) }}
    where reject is null
    group by venue, type, symbol
    {{ "union all" if not loop.last }}
    {% endfor %}
),

-- Symbols without metadata: the longest quote currency that ends the symbol, where the venue writes symbols so.
from_symbols as (
    select
        m.venue, m.type, m.symbol, min(m.tick_ms) as tick_ms,
        max_by(q.quote, length(q.quote)) as quote,
        left(m.symbol, length(m.symbol) - coalesce(max(length(q.quote)), 0)) as base_raw,
        false as metadata
    from observed as m
    anti join newest as n on m.venue = n.venue and m.type = n.type and m.symbol = n.symbol
    {% if is_update() %}
    -- What a list has said of a market stands.
    anti join (select * from {{ this }} where metadata) as listed
        on m.venue = listed.venue and m.type = listed.type and m.symbol = listed.symbol
    {% endif %}
    left join {{ ref('venues') }} as v on m.venue = v.venue
    left join {{ ref('quotes') }} as q
        on v.symbol_has_quote and ends_with(m.symbol, q.quote) and length(m.symbol) > length(q.quote)
    group by m.venue, m.type, m.symbol
),

known as (
    select * from newest
    union all by name
    select * from from_symbols
),

-- Leveraged and other structured tokens by the seed: a name alone, or a suffix of another token of the venue.
structured as (
    select distinct k.venue, k.base_raw
    from known as k
    join {{ ref('structured_tokens') }} as t
        on k.venue = t.venue and t.structured and (k.base_raw = t.token or ends_with(k.base_raw, t.suffix))
    left join (
        select venue, base_raw from known
        {% if is_update() %}union select venue, base_raw from {{ this }}{% endif %}
    ) as of on k.venue = of.venue and of.base_raw = left(k.base_raw, length(k.base_raw) - length(t.suffix))
    where
        (t.token is not null or of.base_raw is not null)
        and k.base_raw not in (select e.token from {{ ref('structured_tokens') }} as e where not e.structured)
),

-- Lists that were read: what they do not name is a price without a market (Aster's premiumIndex has such symbols), or
-- too new to have a known contract.
lists as (
    select venue, type from newest
    {% if is_update() %}union select venue, type from {{ this }} where metadata{% else %}group by venue, type{% endif %}
),

identified as (
    select
        k.venue || ':' || k.type || ':' || k.symbol as market_id,
        k.venue,
        k.type,
        k.symbol,
        k.base_raw,
        k.quote,
        if(st.base_raw is null, coalesce(s.base, k.base_fallback, k.base_raw), k.base_raw || '@' || k.venue) as named_base,
        coalesce(s.multiplier, 1)::double as multiplier,
        k.settle,
        coalesce(k.contract_size, 1) as contract_size,
        coalesce(k.inverse, false) as inverse,
        k.interval_h,
        k.contract_type,
        k.status,
        k.listed_ms,
        k.delisted_ms,
        coalesce(k.hip3, false) as hip3,
        -- Why the market counts in no aggregates.
        case
            when v.role <> 'coins' then v.role
            when st.base_raw is not null then 'structured'
            when k.hip3 then 'hip3'
            when lists.venue is not null and not k.metadata then 'unlisted'
            when not coalesce(q.usd_like, false) then 'quote'
        end as left_out,
        left_out is null as aggregated,
        coalesce(q.usd_like, false) as usd_like,
        coalesce(nullif(k.category, []), c.category, [])::varchar[] as category,
        k.metadata,
        k.tick_ms as seen_ms
    from known as k
    left join {{ ref('quotes') }} as q on k.quote = q.quote
    left join {{ ref('venues') }} as v on k.venue = v.venue
    left join lists on k.venue = lists.venue and k.type = lists.type
    left join structured as st on k.venue = st.venue and k.base_raw = st.base_raw
    left join {{ ref('int_categories') }} as c on k.venue = c.venue and k.type = c.type and k.symbol = c.symbol
    left join {{ ref('symbols') }} as s
        on s.venue in (k.venue, '*') and k.base_raw = s.symbol_base
        and (s.market is null or s.market in (k.type, k.type || ':' || k.symbol))
    qualify row_number() over (
        partition by k.venue, k.type, k.symbol order by s.venue = '*', length(s.market) desc nulls last
    ) = 1
)

{#- A market that was missing from its venue's list for longer counts as listed again. #}
{%- set absent_ms = 86400000 %}
{%- set terms = ["named_base", "quote", "multiplier", "contract_size", "inverse"] -%}
select
    new.*,
    {% if is_update() %}
    case
        when ({% for name in terms %}new.{{ name }}{{ ", " if not loop.last }}{% endfor %})
            is not distinct from ({% for name in terms %}old.{{ name }}{{ ", " if not loop.last }}{% endfor %})
            then old.contract_since_ms
        when old.metadata then new.seen_ms
    end as contract_since_ms,
    case
        when old.metadata and new.metadata and new.seen_ms > old.seen_ms + {{ absent_ms }} then new.seen_ms
        else old.relisted_ms
    end as relisted_ms
    {% else %}
    null::bigint as contract_since_ms,
    null::bigint as relisted_ms
    {% endif %}
from identified as new
{% if is_update() %}
left join {{ this }} as old on new.market_id = old.market_id
where
    old.market_id is null
    or (new.metadata and not old.metadata)
    or (
        new.metadata = old.metadata
        and (not new.metadata or new.seen_ms >= old.seen_ms)
        and (
            (new.metadata and new.seen_ms >= old.seen_ms + 3600000)
            or (new.base_raw, new.quote, new.named_base, new.multiplier, new.settle, new.contract_size, new.inverse,
                new.interval_h, new.contract_type, new.status, new.listed_ms,
                new.delisted_ms, new.hip3, new.left_out, new.usd_like, new.category)
            is distinct from (old.base_raw, old.quote, old.named_base, old.multiplier, old.settle, old.contract_size, old.inverse,
                old.interval_h, old.contract_type, old.status, old.listed_ms,
                old.delisted_ms, old.hip3, old.left_out, old.usd_like, old.category)
        )
    )
{% endif %}
