{#- The liquidation map: where positions that were opened in recorded time would be liquidated. Cohorts are not kept one by
    one but as the USD in each bin of the price, which is enough to shrink them, to let them die and to add new ones. -#}

{#- Bins are 0.1 % of the price wide: the bin of a price, and the price in the middle of a bin. -#}
{% macro price_bin(price) -%}floor(ln({{ price }}) / ln(1.001))::bigint{%- endmacro %}
{% macro bin_price(bin) -%}exp(({{ bin }} + 0.5) * ln(1.001)){%- endmacro %}

{#- What happened to the perps of `markets` in each five minutes from `from_ms` to `until_ms`: t, market_id, the mean `price`,
    `low` and `high`, what was `opened` (USD: contracts added × price), which share of that was `longs`, and which share
    of what was open before was `kept`. Contracts are counted in coins: a price that rises opens no position. -#}
{% macro position_changes(markets, from_ms, until_ms) -%}
{%- set look_back_ms, longest_ms = 3600000, 6 * 3600000 -%}
with told as materialized (
    select *, lag(oi_base ignore nulls) over (partition by market_id order by t) as oi_before
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

-- Contracts that were silent for longer: more is looked through for them alone, because a quarter of a day costs.
silent as materialized (
    select market_id from told
    group by market_id
    having max(oi_base) filter (t >= {{ from_ms }}) is not null and max(oi_base) filter (t < {{ from_ms }}) is null
),

before_silence as (
    select market_id, max_by(oi_base, minute_ms) as oi_base
    from {{ ref("int_market_minutes") }}
    where
        minute_ms between {{ from_ms - longest_ms }} and {{ from_ms - look_back_ms - 1 }} and oi_base is not null
        and market_id in (select market_id from silent)
    group by market_id
)

select
    t, market_id, price, low, high,
    coalesce(greatest(oi_base - held, 0) * price, 0) as opened, longs,
    case when oi_base < held then oi_base / held else 1 end as kept
from (
    select told.*, coalesce(told.oi_before, before_silence.oi_base) as held
    from told
    left join before_silence using (market_id)
)
where t >= {{ from_ms }} and price is not null
{%- endmacro %}

{#- The map at `until_ms`, from the map `before` (which was made at the time from which the relation `changes` goes on):
    market_id, scenario, side, bin, usd, of the relation `perps`. In each five minutes contracts that were closed shrink all that is open in
    proportion, then dies what the price traded through, then new positions are opened. `scenarios` are factors of the
    assumed leverage. -#}
{% macro liquidation_map(before, changes, until_ms, scenarios) -%}
select market_id, scenario, side, bin, sum(usd) as usd
from (
    select b.market_id, b.scenario, b.side, b.bin, b.usd * coalesce(c.kept, 1) as usd
    from {{ before }} as b
    left join (
        select market_id, product(kept) as kept, min(low) as low, max(high) as high
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
            c.opened * c.kept_after * a.weight * case p.side when 'long' then c.longs else 1 - c.longs end as usd,
            c.price * (1 + p.direction * (1 / (a.leverage * s.scenario) - a.maintenance_margin)) as liquidated_at
        from (
            select
                *,
                coalesce(product(kept) over later, 1) as kept_after, min(low) over later as low_after, max(high) over later as high_after
            from {{ changes }}
            where t < {{ until_ms }}
            window later as (partition by market_id order by t rows between 1 following and unbounded following)
        ) as c
        cross join {{ ref("liquidation_assumptions") }} as a
        cross join (values ('long', -1), ('short', 1)) as p(side, direction)
        cross join (select unnest([{{ scenarios | join(", ") }}]::double[]) as scenario) as s
        -- Leverage that leaves no margin is not offered.
        where c.opened > 0 and 1 / (a.leverage * s.scenario) > a.maintenance_margin
    )
    where case side when 'long' then coalesce(low_after > liquidated_at, true) else coalesce(high_after < liquidated_at, true) end
)
group by market_id, scenario, side, bin
-- What has shrunk to less than a cent is nothing. A dollar would be what a quiet market opens in some minutes.
having sum(usd) >= 0.01
{%- endmacro %}

{#- From when to when a build moves the map on, [from_ms, until_ms]: from where it stands, or from the first of the build's
    `ticks`, to the end of their last five minutes. -#}
{% macro map_times(ticks) -%}
{%- set known = known_ms(this, "max(t)") if is_update() else 0 -%}
{%- set from_ms = known or known_ms(ticks, "min(tick_ms)") // 300000 * 300000 -%}
{{ return([from_ms, [from_ms, known_ms(ticks, "max(tick_ms)") // 300000 * 300000] | max]) }}
{%- endmacro %}

{#- What is to be scored, a list of [frozen_ms, hours]: the frozen `maps` whose hours are over at `until_ms`, without those
    that the model holds. -#}
{% macro maps_to_score(maps, horizons, until_ms) -%}
{%- set due = [] -%}
{%- if execute and load_relation(maps) -%}
  {%- for row in run_query("select distinct frozen_ms from " ~ maps ~ " where frozen_ms > 0 order by 1").rows -%}
    {%- for hours in horizons if row[0] + hours * 3600000 <= until_ms -%}{%- do due.append([row[0], hours]) -%}{%- endfor -%}
  {%- endfor -%}
  {%- if due and is_update() -%}
    {%- set told = run_query("select distinct frozen_ms, horizon_h from " ~ this ~ " where frozen_ms >= " ~ due[0][0]).rows -%}
    {%- set known = told | map("list") | list -%}
    {%- set due = due | reject("in", known) | list -%}
  {%- endif -%}
{%- endif -%}
{{ return(due) }}
{%- endmacro %}

{#- The days of `scores` that are complete at `now_ms` and come after those that the model holds. A day is complete when the
    longest hours after its last map are scored. -#}
{% macro days_to_judge(scores, now_ms) -%}
{%- set day_ms, days = 86400000, [] -%}
{%- if execute and load_relation(scores) -%}
  {%- set told = "select coalesce(max(day_ms), -1) from " ~ this if is_update() else "select -1" -%}
  {%- set day = "frozen_ms // " ~ day_ms ~ " * " ~ day_ms -%}
  {%- for row in run_query(
    "select distinct " ~ day ~ " from " ~ scores ~ " where " ~ day ~ " > (" ~ told ~ ") and "
    ~ day ~ " + " ~ (2 * day_ms + 900000) ~ " <= " ~ now_ms ~ " order by 1"
  ).rows -%}{%- do days.append(row[0]) -%}{%- endfor -%}
{%- endif -%}
{{ return(days) }}
{%- endmacro %}
