{{ config(incremental_strategy="replace_all", triggers=endpoints_of(families()["staged_options"].kinds)) }}
{#- The smile of each expiry, strike by strike, over the same options as `option_expiries`. -#}
with {{ newest_options() }},

-- A venue's volatility of a strike is that of its options out of the money: those in the money are hardly traded.
volatilities as (
  select
    o.coin, o.expiry_ms, o.strike, o.venue,
    avg(coalesce(o.mark_iv, i.iv)) as iv,
    sum(o.oi_coins) as oi_coins
  from options as o
  left join {{ ref("int_option_implied") }} as i using (snapshot_ms, venue, instrument)
  where o.forward > 0 and coalesce(o.mark_iv, i.iv) > 0 and (o.strike >= o.forward) = (o.option_type = 'call')
  group by o.coin, o.expiry_ms, o.strike, o.venue
),

smile as (
  select
    coin, expiry_ms, strike,
    coalesce(sum(iv * oi_coins) / nullif(sum(oi_coins), 0), avg(iv)) as iv,
    map_from_entries(list((venue, iv) order by venue)) as iv_by_venue
  from volatilities
  group by coin, expiry_ms, strike
),

open_interest as (
  {{ option_positions("coin, expiry_ms, strike") }}
)

select
  coin, expiry_ms, strftime(make_timestamp_ms(expiry_ms), '%Y-%m-%d') as expiry, strike, venues,
  iv, coalesce(iv_by_venue, map {}) as iv_by_venue, call_oi, put_oi, call_volume, put_volume, partial
from open_interest
left join smile using (coin, expiry_ms, strike)
