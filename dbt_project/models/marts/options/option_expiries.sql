{{ config(incremental_strategy="replace_all", triggers=endpoints_of(families()["staged_options"].kinds)) }}
{#- Open interest and implied volatilities per expiry over all venues: from each venue's newest snapshot, unless that is
    an hour older than the newest of all. -#}
with {{ newest_options() }},

-- Per venue and for all together (venue is null).
strikes as (
  select
    coin, expiry_ms, venue, strike,
    coalesce(sum(oi_coins) filter (option_type = 'call'), 0) as calls,
    coalesce(sum(oi_coins) filter (option_type = 'put'), 0) as puts
  from options
  group by grouping sets ((coin, expiry_ms, venue, strike), (coin, expiry_ms, strike))
),

-- The pay-out to the holders of all options, in USD, if the coin settled at a strike. A difference of cents is a tie:
-- the lowest strike counts.
payouts as (
  select
    s.coin, s.expiry_ms, s.venue, s.strike,
    round(sum(k.calls * greatest(s.strike - k.strike, 0) + k.puts * greatest(k.strike - s.strike, 0)), 2) as usd
  from strikes as s
  join strikes as k
    on s.coin = k.coin and s.expiry_ms = k.expiry_ms and coalesce(s.venue, '') = coalesce(k.venue, '')
  group by s.coin, s.expiry_ms, s.venue, s.strike
  having sum(k.calls + k.puts) > 0
),

max_pains as (
  select
    coin, expiry_ms,
    any_value(strike) filter (venue is null) as max_pain,
    map_from_entries(list((venue, strike) order by venue) filter (venue is not null)) as max_pain_by_venue
  from (
    select coin, expiry_ms, venue, min_by(strike, [usd, strike]) as strike from payouts group by coin, expiry_ms, venue
  )
  group by coin, expiry_ms
),

open_interest as (
  {{ option_positions("coin, expiry_ms") }}
),

spots as (
  select coin, min(snapshot_ms) as as_of_ms, avg(index_price) as spot
  from (select distinct coin, venue, snapshot_ms, index_price from options)
  group by coin
),

-- A venue whose listed strikes reach a delta of 25 on both sides counts; if none does, those that reach the forward.
smiles as (
  select
    *,
    coalesce(atm_iv + call25_iv + put25_iv is not null, false) as whole,
    bool_or(atm_iv + call25_iv + put25_iv is not null) over (partition by coin, expiry_ms) as any_whole
  from {{ ref("int_option_smiles") }}
  join included using (snapshot_ms, venue, coin)
),

volatilities as (
  select
    coin, expiry_ms,
    {% for column, counts in [("forward", "true"), ("atm_iv", "counts"), ("call25_iv", "counts"), ("put25_iv", "counts")] %}
    coalesce(
      sum({{ column }} * oi_coins) filter ({{ counts }})
      / nullif(sum(oi_coins) filter ({{ counts }} and {{ column }} is not null), 0),
      avg({{ column }}) filter ({{ counts }})
    ) as {{ column }},
    {% endfor %}
    map_from_entries(coalesce(list((venue, atm_iv) order by venue) filter (atm_iv is not null), [])) as atm_iv_by_venue,
    coalesce(list({
      venue: venue,
      reason: case when forward is null then 'no_forward' when atm_iv is null then 'forward_not_listed' else 'deltas_not_listed' end
    } order by venue) filter (not whole), []) as excluded
  from (select *, if(any_whole, whole, atm_iv is not null) as counts from smiles)
  group by coin, expiry_ms
)

select
  coin, expiry_ms, strftime(make_timestamp_ms(expiry_ms), '%Y-%m-%d') as expiry,
  case
    when dayofweek(make_timestamp_ms(expiry_ms)) <> 5 then 'day'
    when month(make_timestamp_ms(expiry_ms + 604800000)) = month(make_timestamp_ms(expiry_ms)) then 'week'
    when month(make_timestamp_ms(expiry_ms)) % 3 <> 0 then 'month'
    else 'quarter'
  end as kind,
  as_of_ms, venues, max_pain, coalesce(max_pain_by_venue, map {}) as max_pain_by_venue,
  call_oi, put_oi, put_oi / nullif(call_oi, 0) as pcr_oi,
  call_volume, put_volume, put_volume / nullif(call_volume, 0) as pcr_vol,
  spot, coalesce(call_oi + put_oi, call_oi, put_oi) * spot as notional_usd, partial,
  (expiry_ms - as_of_ms) / 86400000 as days,
  forward, atm_iv, call25_iv, put25_iv,
  call25_iv - put25_iv as rr25, (call25_iv + put25_iv) / 2 - atm_iv as fly25,
  coalesce(atm_iv_by_venue, map {}) as atm_iv_by_venue, coalesce(excluded, []) as excluded
from open_interest
join spots using (coin)
left join max_pains using (coin, expiry_ms)
left join volatilities using (coin, expiry_ms)
