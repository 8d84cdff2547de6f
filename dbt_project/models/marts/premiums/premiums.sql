{{ config(
  incremental_strategy="replace_keys", replace_keys=["exchange", "base", "t"], replace_on="t",
  triggers=endpoints_of(["spot_bars", "fx_rates", "fx_daily"])
) }}
{#- The premium of a coin on an exchange over the reference, once an hour: at the close of the last minute in which both
    have a bar, else by the closes of an hour or a day of history. A day's close is that of its last hour. Only the
    exchange rate is carried over, because it does not change on weekends. -#}
{%- set carry_ms = 7 * 86400000 %}
{%- set window = source("pipeline", "window_minutes") %}
{%- set bars, history, rates = ref("int_market_bars"), ref("int_history_bars"), ref("int_fx_rates") %}
{%- set touched = ref("touched_markets") %}
with pairs as materialized (
  select
    exchange, rate_pair, string_split(rate_sources, ',') as sources, own.base, own.market_id as own_id,
    reference.market_id as reference_id, usdt.market_id as usdt_id
  from {{ ref("premium_exchanges") }} as listed
  join {{ ref("instruments") }} as own
    on own.venue = listed.exchange and own.quote = listed.quote and own.type = 'spot'
    and (listed.bases is null or list_contains(string_split(listed.bases, ','), own.base))
  join {{ ref("instruments") }} as reference
    on reference.venue = listed.reference and reference.quote = listed.reference_quote and reference.type = 'spot'
    and reference.base = own.base
  left join {{ ref("instruments") }} as usdt
    on usdt.venue = listed.exchange and usdt.quote = listed.quote and usdt.type = 'spot' and usdt.base = listed.reference_quote
),

roles as materialized (
  select own_id as market_id, 'own' as role, exchange, base from pairs
  union all
  select reference_id, 'reference', exchange, base from pairs
  union all
  select usdt_id, 'usdt', exchange, base from pairs where usdt_id is not null
),

{% if is_update() %}
touched_hours as materialized (
  -- The minutes that the window recorded, those of its bars, the hours and days of history, and those for which a new rate is in force.
  select distinct exchange, base, {{ bucket("tick_ms", "1h") }} as t from pairs cross join {{ window }}
  union
  select exchange, roles.base, if(step = '1d', minute_ms + 82800000, {{ bucket("minute_ms", "1h") }})
  from {{ touched }} join roles using (market_id)
  union
  select exchange, base, unnest(range(
    {{ bucket("t", "1h") }}, least(t + {{ carry_ms }}, (select max(tick_ms) from {{ window }})) + 1, 3600000
  ))
  from {{ rates }} join pairs on pair = rate_pair
  where tick_ms in (select tick_ms from {{ window }})
),

-- From a list, which DuckDB takes for short: it then looks up the hours and markets while it scans the bars, of which it
-- would otherwise build a table of a day.
hours as materialized (
  select unnest(list(distinct t)) as t from touched_hours
),
{% endif %}
-- A list of literals, because DuckDB prunes a scan by the values of a join key but not by an expression.
minute_closes as materialized (
  select market_id, minute_ms, close from {{ bars }}
  semi join (select unnest(list(distinct market_id)) as market_id from roles) using (market_id)
  {% if is_update() %}semi join (select t + unnest(range(0, 3600000, 60000)) as minute_ms from hours) using (minute_ms){% endif %}
  -- All roles are spot markets: the scan leaves out the others before their identities are compared.
  where type = 'spot'
),

history_closes as materialized (
  select market_id, t + 3540000 as minute_ms, close, 1 as coarseness from {{ history }}
  semi join roles using (market_id)
  {% if is_update() %}semi join hours using (t){% endif %}
  where step = '1h'
  union all
  select market_id, t + 86340000, close, 2 from {{ history }}
  semi join roles using (market_id)
  {% if is_update() %}semi join (select t - 82800000 as t from hours) using (t){% endif %}
  where step = '1d'
),

closes as (
  select *, 0 as coarseness from minute_closes
  union all by name
  select * from history_closes
),

-- Exchange and reference in the same minute; the token's price in the same minute, or null.
points as (
  select
    exchange, base, {{ bucket("minute_ms", "1h") }} as t, minute_ms, coarseness,
    max(close) filter (role = 'own') as price,
    max(close) filter (role = 'reference') as reference_price,
    max(close) filter (role = 'usdt') as usdt_price
  from closes join roles using (market_id)
  group by exchange, base, minute_ms, coarseness
  having price > 0 and reference_price > 0
),

hourly as (
  select points.*, rate_pair, sources, minute_ms + 60000 as closed_ms
  from points
  join pairs using (exchange, base)
  {% if is_update() %}semi join touched_hours using (exchange, base, t){% endif %}
  qualify row_number() over (partition by exchange, base, t order by coarseness, minute_ms desc) = 1
),

-- The newest rate at the close, from the preferred source that has one.
rates_in_force as (
  select priced.exchange, priced.base, priced.t, known.rate, known.source as rate_source, known.t as rate_ms
  from (
    select *, unnest(sources) as source, unnest(range(len(sources))) as preference from hourly where rate_pair is not null
  ) as priced
  asof join {{ rates }} as known
    on priced.rate_pair = known.pair and priced.source = known.source and priced.closed_ms >= known.t
  where known.t > priced.closed_ms - {{ carry_ms }}
  qualify row_number() over (partition by priced.exchange, priced.base, priced.t order by priced.preference) = 1
)

select
  exchange, base, t, minute_ms, price, reference_price, usdt_price,
  if(rate_pair is null, 1, rate) as usd_rate, rate_source, rate_ms,
  100 * (price / usd_rate / reference_price - 1) as premium,
  100 * (price / nullif(usdt_price, 0) / reference_price - 1) as premium_usdt,
  price / usd_rate - reference_price as gap,
  if(coarseness = 0, 'minutes', 'history') as source,
  (select max(tick_ms) from {{ window }}) as tick_ms
from hourly
left join rates_in_force using (exchange, base, t)
