-- The coin of each market over time: the coin that its name says, while its price agrees with the coin's other markets;
-- otherwise `BASE@venue`. Distances and durations are in the seed `identity_rules`. The result depends on nothing but
-- the recorded minutes in their order: a build of one minute and one of many minutes decide the same, minute by minute,
-- and a minute that is built again is decided again from what was known before it. A window of older minutes only
-- changes no decision.
{{ config(incremental_strategy='replace_keys', replace_keys=['market_id']) }}
with recursive limits as (
    select
        {%- for rule in ['first', 'part', 'join'] %}
        ln(max(ratio) filter (rule = '{{ rule }}')) as {{ rule }}_distance,
        max(minutes) filter (rule = '{{ rule }}') * 60000 as {{ rule }}_ms{{ "," if not loop.last }}
        {%- endfor %}
    from {{ ref('identity_rules') }}
),

minutes as (
    select tick_ms, row_number() over (order by tick_ms)::integer as n
    from ({{ whole_minutes() }})
    -- Not before the newest minute that is built; one that a clock which was ahead left in the future does not count.
    where tick_ms >= coalesce((
        select max(max_tick_ms) from {{ source('pipeline', 'loads') }}
        where max_tick_ms <= (select max(finished_ms) + 300000 from {{ source('pipeline', 'builds') }})
    ), 0)
),

-- What was known before these minutes.
known as materialized (
    {% if is_update() %}
    select
        * replace (
            if(to_ms < (select min(tick_ms) from minutes), to_ms, null) as to_ms,
            if(contrary_ms < (select min(tick_ms) from minutes), contrary_ms, null) as contrary_ms
        )
    from {{ this }}
    where from_ms < (select min(tick_ms) from minutes)
    {% else %}
    select
        null::varchar as market_id, null::bigint as from_ms, null::bigint as to_ms, null::varchar as coin, null::varchar as named_base,
        null::varchar as reason, null::double as price_ratio, null::double as turnover_usd, null::double as agreeing_usd,
        null::bigint as contrary_ms
    where false
    {% endif %}
),

observed as materialized (
    select
        o.tick_ms, m.n, l.market_id, any_value(l.venue) as venue, any_value(l.named_base) as named_base,
        any_value(l.quote) as quote, any_value(l.usd_like) as usd_like, any_value(l.relisted_ms) as relisted_ms,
        coalesce(max_by(nullif(o.mark_price, 0), o.received_ms), max_by(nullif(o.last_price, 0), o.received_ms))
        / any_value(l.multiplier) as price,
        max_by(o.vol24h_quote, o.received_ms) as turnover_quote, max_by(o.vol24h_usd, o.received_ms) as turnover_usd
    from {{ ref('staged_market_state') }} as o
    join minutes as m on o.tick_ms = m.tick_ms
    join {{ ref('int_listed_markets') }} as l on o.venue = l.venue and o.type = l.type and o.symbol = l.symbol
    where o.reject is null and coalesce(l.left_out, 'quote') = 'quote'
    group by o.tick_ms, m.n, l.market_id
    having price > 0
),

-- USD per unit of a quote currency that is a coin, from the coin's most traded market in the minute.
quote_rates as (
    select tick_ms, named_base as quote, max_by(price, coalesce(turnover_usd, turnover_quote, 0)) as usd
    from observed
    where usd_like
    group by tick_ms, named_base
),

priced as materialized (
    select
        o.tick_ms, o.n, o.market_id, o.venue, o.named_base, o.relisted_ms,
        o.price * if(o.usd_like, 1, r.usd) as price,
        coalesce(o.turnover_usd, o.turnover_quote * if(o.usd_like, 1, r.usd), 0) as turnover_usd
    from observed as o
    left join quote_rates as r on o.tick_ms = r.tick_ms and o.quote = r.quote
    where o.usd_like or r.usd is not null
),

-- Only these names need a comparison of all their markets: prices apart, or a decision that may end.
disputed as materialized (
    select named_base
    from priced
    group by tick_ms, named_base
    having max(price) > exp((select part_distance from limits)) * min(price)
    union
    select named_base from known where to_ms is null and (coin <> named_base or contrary_ms is not null)
),

markets as materialized (
    select
        p.market_id, any_value(p.venue) as venue, any_value(p.named_base) as named_base, any_value(p.relisted_ms) as relisted_ms,
        min(p.tick_ms) as seen_ms,
        -- Null for a market that is new, or new under this name.
        any_value(k.coin <> k.named_base) filter (k.named_base = p.named_base) as apart,
        any_value(k) filter (k.named_base = p.named_base) as state
    from priced as p
    left join known as k on p.market_id = k.market_id and k.to_ms is null
    group by p.market_id
),

-- One minute after the other. A market is `apart` if it is not of the coin; the price that the coin's markets agree on
-- is that of the one which has the most turnover close to it (a market without turnover counts as 1 USD).
judged as (
    select
        0 as n, m.market_id, m.venue, m.named_base, m.relisted_ms, m.apart, m.state.from_ms as from_ms, m.state.reason as reason,
        m.state.price_ratio as price_ratio, m.state.turnover_usd as turnover_usd, m.state.agreeing_usd as agreeing_usd,
        m.state.contrary_ms as contrary_ms
    from markets as m
    semi join disputed as d on m.named_base = d.named_base
    union all
    select
        n, market_id, venue, named_base, relisted_ms, now_apart,
        if(changes, tick_ms, from_ms),
        case
            when not changes then reason
            when before is null then if(now_apart, 'first_price', 'name')
            else if(now_apart, 'parted', 'agreed')
        end,
        if(changes, if(compared, now_ratio, null), price_ratio), if(changes, if(compared, now_turnover_usd, null), turnover_usd),
        if(changes, if(compared, now_agreeing_usd, null), agreeing_usd),
        if(changes, null, now_contrary_ms)
    from (
        select
            *,
            case
                when price is null then before
                when before is null then coalesce(abs(distance) > first_distance, false)
                when now_contrary_ms is not null and tick_ms - now_contrary_ms >= if(before, join_ms, part_ms) then not before
                else before
            end as now_apart,
            price is not null and (before is null or before <> now_apart) as changes,
            -- Which names are compared depends on the window's other minutes: a decision that needs no prices states none.
            before is not null or now_apart as compared
        from (
            select
                *,
                case
                    when price is null or distance is null then contrary_ms
                    when if(before, abs(distance) < join_distance, abs(distance) > part_distance)
                        then if(now_turnover_usd > 0, coalesce(contrary_ms, tick_ms), contrary_ms)
                end as now_contrary_ms
            from (
                select
                    *,
                    price / first_value(price) over agreed as now_ratio,
                    ln(now_ratio) as distance,
                    first_value(support) over agreed as now_agreeing_usd
                from (
                    select
                        *,
                        case when votes then list_sum(list_transform(
                            list_filter(voters, lambda one: abs(ln(one.price / price)) < part_distance), lambda one: one.usd
                        )) end as support
                    from (
                        select
                            *,
                            list({price: price, usd: greatest(now_turnover_usd, 1)}) filter (votes) over (partition by named_base) as voters
                        from (
                            -- The coin's own markets decide; while it has none, all that are new.
                            select
                                *,
                                price is not null
                                and case
                                    when bool_or(price is not null and before is not distinct from false) over (partition by named_base)
                                        then before is not distinct from false
                                    else before is null
                                end as votes
                            from (
                                select
                                    j.n + 1 as n, j.market_id, j.venue, j.named_base, j.relisted_ms,
                                    if(j.relisted_ms between j.from_ms + 1 and m.tick_ms and not j.apart, null, j.apart) as before,
                                    j.from_ms, j.reason, j.price_ratio, j.turnover_usd, j.agreeing_usd, j.contrary_ms,
                                    p.price, p.turnover_usd as now_turnover_usd, m.tick_ms, limits.*
                                from judged as j
                                join minutes as m on j.n + 1 = m.n
                                left join priced as p on j.n + 1 = p.n and j.market_id = p.market_id
                                cross join limits
                            )
                        )
                    )
                )
                window agreed as (
                    partition by named_base order by votes desc, support desc, now_turnover_usd desc, market_id
                )
            )
        )
    )
),

decided as (
    select
        market_id, from_ms, any_value(if(apart, named_base || '@' || venue, named_base)) as coin, any_value(named_base) as named_base,
        any_value(reason) as reason, any_value(price_ratio) as price_ratio, any_value(turnover_usd) as turnover_usd,
        any_value(agreeing_usd) as agreeing_usd, max_by(contrary_ms, n) as contrary_ms
    from (select * replace (coalesce(contrary_ms, -1) as contrary_ms) from judged where from_ms is not null)
    group by market_id, from_ms
    union all by name
    select
        market_id, seen_ms as from_ms, named_base as coin, named_base, 'name' as reason, null as price_ratio, null as turnover_usd,
        null as agreeing_usd, -1 as contrary_ms
    from markets
    anti join disputed using (named_base)
    where apart is null
),

timeline as (
    select * replace (nullif(contrary_ms, -1) as contrary_ms) from decided
    union all by name
    select * exclude (to_ms)
    from known
    where market_id in (select market_id from decided) and (market_id, from_ms) not in (select (market_id, from_ms) from decided)
)

select
    market_id, from_ms, lead(from_ms) over (partition by market_id order by from_ms) as to_ms, coin, named_base, reason, price_ratio,
    turnover_usd, agreeing_usd, contrary_ms
from timeline
