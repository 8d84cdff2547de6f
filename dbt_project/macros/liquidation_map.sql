{#- The liquidation map: at which prices positions that were opened in recorded time would be liquidated. Positions are not
    stored one by one but as the USD in each price bin, which is enough to reduce, liquidate and add positions. -#}

{#- Bins are 0.1 % of the price wide: the bin of a price, and the price in the middle of a bin. -#}
{% macro price_bin(price) -%}floor(ln({{ price }}) / ln(1.001))::bigint{%- endmacro %}
{% macro bin_price(bin) -%}exp(({{ bin }} + 0.5) * ln(1.001)){%- endmacro %}

{#- What happened to the perps of `markets` in each 5-minute bucket from `from_ms` to `until_ms`: t, market_id, the mean
    `price`, `low` and `high`, the positions `opened` (USD: coins of open interest added × price), the fraction of them
    that are `longs`, and the fraction of the earlier open interest that is `remaining`. Open interest is in coins, so that a
    rising price opens no position. -#}
{% macro position_changes(markets, from_ms, until_ms) -%}
{%- set look_back_ms, longest_ms = 3600000, 6 * 3600000 -%}
with five_minutes as materialized (
    select *, lag(oi_base ignore nulls) over (partition by market_id order by t) as oi_last
    from (
        select
            {{ bucket("m.minute_ms", "5m") }} as t, m.market_id, avg(m.price) as price,
            least(min(m.price), min(b.low)) as low, greatest(max(m.price), max(b.high)) as high,
            max_by(m.oi_base, m.minute_ms) filter (m.oi_base is not null) as oi_base,
            -- Half where the venue does not publish the side of takers.
            coalesce(sum(b.taker_buy_usd) / nullif(sum(b.taker_buy_usd + b.taker_sell_usd), 0), 0.5) as longs
        from {{ ref("int_market_minutes") }} as m
        left join (
            select market_id, minute_ms, low, high, taker_buy_usd, taker_sell_usd from {{ ref("int_market_bars") }}
            where minute_ms between {{ from_ms }} and {{ until_ms - 1 }}
        ) as b on m.market_id = b.market_id and m.minute_ms = b.minute_ms
        where
            m.minute_ms between {{ from_ms - look_back_ms }} and {{ until_ms - 1 }} and m.type = 'perp'
            and m.market_id in (select market_id from {{ markets }})
        group by all
    )
),

-- Markets without open interest in the hour before: only for them are six hours scanned, because that is expensive.
without_oi as materialized (
    select market_id from five_minutes
    group by market_id
    having max(oi_base) filter (t >= {{ from_ms }}) is not null and max(oi_base) filter (t < {{ from_ms }}) is null
),

earlier_oi as (
    select market_id, max_by(oi_base, minute_ms) as oi_base
    from {{ ref("int_market_minutes") }}
    where
        minute_ms between {{ from_ms - longest_ms }} and {{ from_ms - look_back_ms - 1 }} and oi_base is not null
        and market_id in (select market_id from without_oi)
    group by market_id
)

select
    t, market_id, price, low, high,
    coalesce(greatest(oi_base - oi_previous, 0) * price, 0) as opened, longs,
    case when oi_base < oi_previous then oi_base / oi_previous else 1 end as remaining
from (
    select five_minutes.*, coalesce(five_minutes.oi_last, earlier_oi.oi_base) as oi_previous
    from five_minutes
    left join earlier_oi using (market_id)
)
where t >= {{ from_ms }} and price is not null
{%- endmacro %}

{#- The map at `until_ms`, from the map `before` (the relation `changes` continues where it ends):
    market_id, scenario, side, bin, usd, for the markets of the relation `perps`. In each 5-minute bucket a fall of open
    interest reduces all positions in proportion, then positions whose price was traded through are liquidated, then new
    positions are opened. `scenarios` are factors of the assumed leverage. -#}
{% macro liquidation_map(before, changes, until_ms, scenarios) -%}
select market_id, scenario, side, bin, sum(usd) as usd
from (
    select b.market_id, b.scenario, b.side, b.bin, b.usd * coalesce(c.remaining, 1) as usd
    from {{ before }} as b
    left join (
        select market_id, product(remaining) as remaining, min(low) as low, max(high) as high
        from {{ changes }}
        where t < {{ until_ms }}
        group by market_id
    ) as c on b.market_id = c.market_id
    where
        b.scenario in ({{ scenarios | join(", ") }}) and b.market_id in (select market_id from perps)
        and case b.side when 'long' then coalesce(c.low > {{ bin_price("b.bin") }}, true) else coalesce(c.high < {{ bin_price("b.bin") }}, true) end
    union all
    select market_id, scenario, side, {{ price_bin("liquidated_at") }} as bin, usd
    from (
        select
            c.market_id, s.scenario, p.side, c.low_after, c.high_after,
            c.opened * c.remaining_after * a.weight * case p.side when 'long' then c.longs else 1 - c.longs end as usd,
            c.price * (1 + p.direction * (1 / (a.leverage * s.scenario) - a.maintenance_margin)) as liquidated_at
        from (
            select
                *,
                coalesce(product(remaining) over later, 1) as remaining_after, min(low) over later as low_after, max(high) over later as high_after
            from {{ changes }}
            where t < {{ until_ms }}
            window later as (partition by market_id order by t rows between 1 following and unbounded following)
        ) as c
        cross join {{ ref("liquidation_assumptions") }} as a
        cross join (values ('long', -1), ('short', 1)) as p(side, direction)
        cross join (select unnest([{{ scenarios | join(", ") }}]::double[]) as scenario) as s
        -- Exchanges do not offer leverage that leaves no margin.
        where c.opened > 0 and 1 / (a.leverage * s.scenario) > a.maintenance_margin
    )
    where case side when 'long' then coalesce(low_after > liquidated_at, true) else coalesce(high_after < liquidated_at, true) end
)
group by market_id, scenario, side, bin
-- Bins below one cent are dropped. One dollar would drop what quiet markets open in some minutes.
having sum(usd) >= 0.01
{%- endmacro %}

{#- The period by which a build advances the map, [from_ms, until_ms]: from the map's newest time, or without a map from the
    first recorded minute, at most a day back, to the 5-minute bucket of the last minute in `minutes`. It is not the first
    one in `minutes`: a build of one minute alone would begin with a bucket that has not ended, and so would each later
    one, because a map without rows is no map. -#}
{% macro map_times(minutes) -%}
{%- set known = known_ms(this, "max(t)") if is_update() else 0 -%}
{%- set begin_ms = known_ms(minutes, "min(tick_ms)") -%}
{%- set recorded_ms = known_ms(source("pipeline", "loads"), "min(min_tick_ms)") or begin_ms -%}
{%- set from_ms = known or [[recorded_ms, begin_ms] | min, begin_ms - 86400000] | max // 300000 * 300000 -%}
{{ return([from_ms, [from_ms, known_ms(minutes, "max(tick_ms)") // 300000 * 300000] | max]) }}
{%- endmacro %}

{#- The frozen `maps` to score, a list of [frozen_ms, hours]: those whose horizon has ended at `until_ms` and that are not in
    this model yet. -#}
{% macro maps_to_score(maps, horizons, until_ms) -%}
{%- set due = [] -%}
{%- if execute and load_relation(maps) -%}
  {%- for row in run_query("select distinct frozen_ms from " ~ maps ~ " where frozen_ms > 0 order by 1").rows -%}
    {%- for hours in horizons if row[0] + hours * 3600000 <= until_ms -%}{%- do due.append([row[0], hours]) -%}{%- endfor -%}
  {%- endfor -%}
  {%- if due and is_update() -%}
    {%- set scored = run_query("select distinct frozen_ms, horizon_h from " ~ this ~ " where frozen_ms >= " ~ due[0][0]).rows -%}
    {%- set known = scored | map("list") | list -%}
    {%- set due = due | reject("in", known) | list -%}
  {%- endif -%}
{%- endif -%}
{{ return(due) }}
{%- endmacro %}

{#- The days of `scores` that are complete at `now_ms` and newer than those in this model. A day is complete when the longest
    horizon of its last map is scored. -#}
{% macro days_to_judge(scores, now_ms) -%}
{%- set day_ms, days = 86400000, [] -%}
{%- if execute and load_relation(scores) -%}
  {%- set judged_until = "select coalesce(max(day_ms), -1) from " ~ this if is_update() else "select -1" -%}
  {%- set day = "frozen_ms // " ~ day_ms ~ " * " ~ day_ms -%}
  {%- for row in run_query(
    "select distinct " ~ day ~ " from " ~ scores ~ " where " ~ day ~ " > (" ~ judged_until ~ ") and "
    ~ day ~ " + " ~ (2 * day_ms + 900000) ~ " <= " ~ now_ms ~ " order by 1"
  ).rows -%}{%- do days.append(row[0]) -%}{%- endfor -%}
{%- endif -%}
{{ return(days) }}
{%- endmacro %}
