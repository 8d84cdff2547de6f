{{ config(
  incremental_strategy="replace_keys", replace_keys=["t", "market_id", "band_pct"], replace_on="t",
  triggers=endpoints_of(["index_books"])
) }}
{#- The positions that would be liquidated if a perp's price moved through a band, and the depth of its index's order
    books out to the same distance. Written once by each build that recorded such books, for the end of its last five
    minutes. -#}
{%- set max_age_ms, bands = 600000, [0.5, 1.0, 2.0, 5.0] %}
{%- set maps = ref("int_liquidation_maps") %}
{#- A build of older minutes rewrites its newest rows. #}
{%- set tick_ms = known_ms(source("pipeline", "window_minutes"), "max(tick_ms)") %}
{%- set t = [known_ms(maps, "max(t)"), tick_ms // 300000 * 300000] | max %}
{%- set scenarios = {"": 1, "_low": 0.5, "_high": 2} %}
with newest as (
  select
    market_id,
    max_by(price, minute_ms) filter (price is not null) as price, max(minute_ms) filter (price is not null) as price_ms,
    max_by(oi_usd, minute_ms) filter (oi_usd is not null) as oi_usd, max(minute_ms) filter (oi_usd is not null) as oi_ms
  from {{ ref("int_market_minutes") }}
  where minute_ms between {{ t - max_age_ms }} and {{ t }} and type = 'perp' and aggregated
  group by market_id
),

-- Perps that their venues published in the last day: during an outage a perp stays, it is not delisted.
compositions as (
  select market_id, m.venue, m.symbol, m.base, c.components
  from {{ ref("int_index_components") }} as c
  join {{ ref("instruments") }} as m using (market_id)
  where c.since_ms <= {{ t }} and m.aggregated and m.seen_ms > {{ t - 86400000 }} and coalesce(m.delisted_ms > {{ t }}, true)
  qualify row_number() over (partition by market_id order by c.since_ms desc) = 1
),

-- A leg without weight does not count; if a venue publishes no weights at all, all legs have the same.
legs as (
  select market_id, leg.exchange as exchange, leg.pair as pair, coalesce(leg.weight, 1 / len(components)) as weight
  from (select market_id, components, unnest(components) as leg from compositions)
  where coalesce(leg.weight, 1) > 0
),

books as materialized (
  select venue, base, {{ joined_pair("symbol") }} as pair, tick_ms, depth
  from {{ ref("int_index_depth") }}
  where tick_ms between {{ t - max_age_ms }} and {{ t + 300000 }} and depth[1].bid_usd is not null
  qualify row_number() over (partition by market_id order by tick_ms desc) = 1
),

-- A leg names its pair, or none: each book is found by its pair and by its coin.
named_books as (
  select *, pair as name, true as by_pair from books
  union all
  select *, base, false from books
),

-- For a leg without a pair: the exchange's deepest order book of the coin.
filled as (
  select
    l.market_id, l.exchange, l.pair, l.weight, b.tick_ms, b.depth
  from legs as l
  join compositions as c using (market_id)
  left join named_books as b
    on l.exchange = b.venue and (l.pair is not null) = b.by_pair and coalesce({{ joined_pair("l.pair") }}, c.base) = b.name
  qualify row_number() over (
    partition by l.market_id, l.exchange, l.pair order by b.depth[-1].bid_usd + b.depth[-1].ask_usd desc nulls last
  ) = 1
),

index_depths as (
  select
    market_id, band.band_pct as band_pct, any_value(published) as published, any_value(present) as present,
    any_value(oldest_book_ms) as oldest_book_ms,
    -- In a fixed order, so that a window built twice gives the same sum to the last digit.
    sum(weight * band.bid_usd order by exchange, pair) / sum(weight order by exchange, pair) as bid_depth_usd,
    sum(weight * band.ask_usd order by exchange, pair) / sum(weight order by exchange, pair) as ask_depth_usd,
    bool_or(band.bid_truncated or band.ask_truncated) as truncated
  from (
    select
      market_id, exchange, pair, weight, unnest(depth) as band,
      count(*) over (partition by market_id) as present, min(tick_ms) over (partition by market_id) as oldest_book_ms
    from filled
    where depth is not null
  )
  join (select market_id, count(*) as published from filled group by market_id) as of_index using (market_id)
  group by market_id, band.band_pct
),

positions as (
  select m.market_id, m.side, m.scenario, m.usd, m.t, ({{ bin_price("m.bin") }} / n.price - 1) * 100 as away_pct
  from {{ maps }} as m
  join newest as n using (market_id)
  where m.frozen_ms = 0 and n.price is not null
),

-- Longs below the price, shorts above it: positions on the other side were passed by the price within the map's newest
-- five minutes, and are liquidated already.
exposures as (
  select
    m.market_id, b.band_pct,
    {% for name, scenario in scenarios.items() %}
    {% for side, sign in [("long", -1), ("short", 1)] %}
    coalesce(sum(m.usd) filter (
      m.side = '{{ side }}' and m.scenario = {{ scenario }}
      and {{ sign }} * m.away_pct between 0 and b.band_pct
    ), 0) as {{ side }}_exposure{{ name }}_usd,
    {% endfor %}
    {% endfor %}
    any_value(m.t) as map_ms
  from positions as m
  cross join (select unnest({{ bands }}) as band_pct) as b
  group by m.market_id, b.band_pct
),

by_band as (
  select
    {{ t }}::bigint as t, c.market_id, c.venue, c.symbol, c.base, b.band_pct::double as band_pct, n.price, n.oi_usd,
    {% for side in ["long", "short"] %}
    {% for name in scenarios %}
    e.{{ side }}_exposure{{ name }}_usd,
    {% endfor %}
    {% endfor %}
    d.bid_depth_usd, d.ask_depth_usd, d.published, coalesce(d.present, 0) as present,
    case
      when n.price is null then 'no_price'
      when n.oi_usd is null then 'no_open_interest'
      when e.map_ms is null then 'no_positions_seen'
      when d.bid_depth_usd is null then 'no_books'
    end as lacks,
    case when d.present < d.published then 'missing_legs' when d.truncated then 'truncated_book' end as weakness,
    least(n.price_ms, n.oi_ms, d.oldest_book_ms, e.map_ms) as oldest_input_ms
  from compositions as c
  left join newest as n using (market_id)
  cross join (select unnest({{ bands }}) as band_pct) as b
  left join exposures as e on c.market_id = e.market_id and b.band_pct = e.band_pct
  left join index_depths as d on c.market_id = d.market_id and b.band_pct = d.band_pct
  where c.base in (select base from books)
)

select
  * exclude (published, present, lacks, weakness),
  coalesce(present, 0)::integer as legs_present,
  (select count(*) from legs where legs.market_id = by_band.market_id)::integer as legs_published,
  case when lacks is not null then 'insufficient' when weakness is not null then 'partial' else 'full' end as coverage,
  coalesce(lacks, weakness) as reason,
  {{ tick_ms }}::bigint as tick_ms
from by_band
where {{ t }} > 0
