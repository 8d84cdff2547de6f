{{ config(incremental_strategy="replace_all", triggers=endpoints_of(families()["staged_options"].kinds)) }}
{#- A coin's options over all expiries, and its volatilities at a constant maturity of 30 days: each total variance linear
    in time between the expiries on either side. -#}
{%- set month = 30.0 %}
with totals as (
  select
    coin, any_value(as_of_ms) as as_of_ms, list_sort(list_distinct(flatten(list(venues)))) as venues, any_value(spot) as spot,
    sum(call_oi) as call_oi, sum(put_oi) as put_oi, sum(put_oi) / nullif(sum(call_oi), 0) as pcr_oi,
    sum(put_volume) / nullif(sum(call_volume), 0) as pcr_vol,
    sum(notional_usd) as notional_usd
  from {{ ref("option_expiries") }}
  group by coin
),

-- The nearest expiries on either side that have all three volatilities; one on the day itself is both.
around as (
  select
    coin,
    {% for side, order in [("before", "days <= %s" % month), ("after", "days >= %s" % month)] %}
    {{ "arg_max" if side == "before" else "arg_min" }}(
      {days: days, atm_iv: atm_iv, call25_iv: call25_iv, put25_iv: put25_iv}, days
    ) filter ({{ order }}) as {{ side }}{{ "," if not loop.last }}
    {% endfor %}
  from {{ ref("option_expiries") }}
  where fly25 is not null
  group by coin
),

constant as (
  select
    coin,
    {% for column in ["atm_iv", "call25_iv", "put25_iv"] %}
    sqrt(
      (
        before.{{ column }} ** 2 * before.days * (1 - share) + after.{{ column }} ** 2 * after.days * share
      ) / {{ month }}
    ) as {{ column }}{{ "," if not loop.last }}
    {% endfor %}
  from (
    select *, if(after.days = before.days, 0, ({{ month }} - before.days) / (after.days - before.days)) as share from around
  )
  where before is not null and after is not null
)

select
  totals.*, atm_iv, call25_iv, put25_iv,
  call25_iv - put25_iv as rr25, (call25_iv + put25_iv) / 2 - atm_iv as fly25
from totals
left join constant using (coin)
