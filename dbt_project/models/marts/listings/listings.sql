{{ config(incremental_strategy="replace_keys", replace_keys=["market_id"], triggers=["instruments"]) }}
{#- The listing time of each USDT perp and its opening price: from the first recorded minute, or from the venue's bar of
    that day. Written when lists of markets are requested, once an hour. -#}
{%- set searched_ms = 172800000 %}
{%- set now = newest_minute() %}
with listed as (
  select market_id, venue, symbol, base, status, listed_ms, delisted_ms
  from {{ ref("instruments") }}
  where type = 'perp' and quote = 'USDT' and not hip3 and metadata and listed_ms is not null
),
{% if is_update() %}
known as (
  select market_id, listed_ms, first_open from {{ this }} where first_open is not null
),
{% endif %}
unpriced as materialized (
  select * from listed
  {% if is_update() %}anti join known using (market_id, listed_ms){% endif %}
),

-- The first bar within five minutes of the listing. A market is listed once, so later builds do not search again.
minutes as (
  select market_id, min_by(open, minute_ms) as first_open
  from {{ ref("int_market_bars") }}
  join (
    select market_id, {{ bucket("listed_ms", "1m") }} + unnest(range(0, 360000, 60000)) as minute_ms
    from unpriced
    {% if is_update() %}where listed_ms > {{ now }} - {{ searched_ms }}{% endif %}
  ) as first_minutes using (market_id, minute_ms)
  group by market_id
),

days as (
  select market_id, any_value(open) as first_open
  from {{ ref("int_history_bars") }}
  join (select market_id, {{ bucket("listed_ms", "1d") }} as t from unpriced) as first_days using (market_id, t)
  where step = '1d'
  group by market_id
)

select
  listed.*,
  coalesce({% if is_update() %}known.first_open, {% endif %}minutes.first_open, days.first_open) as first_open
from listed
{% if is_update() %}left join known using (market_id, listed_ms){% endif %}
left join minutes using (market_id)
left join days using (market_id)
