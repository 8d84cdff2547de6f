{{ config(incremental_strategy="replace_keys", replace_keys=["t", "version"], replace_on="t", triggers=["every_1h", "after_history"]) }}
{#- The index of each completed day, written once together with its coins. If too few coins have a close 90 days before,
    the day's value is null. -#}
{%- set least_share = 0.2 %}
with days as (
  select * from {{ ref("altcoin_season_coins") }}
  {% if is_update() %}
  anti join (select t, version from {{ this }} where final) as written using (t, version)
  {% endif %}
),

counted as (
  select
    t, version, count(rank) as n_members, (count(*) filter (rank is not null and beat_btc is not null))::integer as n_coins,
    (count(*) filter (rank is not null and beat_btc))::integer as n_beat_btc, any_value(n_universe) as n_universe,
    any_value(btc_return) as btc_return,
    coalesce(list({base: base, reason: excluded_reason} order by rank nulls first, base) filter (excluded_reason is not null), []) as excluded,
    bool_and(final) as final
  from days
  group by t, version
)

select
  t, version, if(n_coins > 0 and n_coins >= {{ least_share }} * n_members, 100.0 * n_beat_btc / n_coins, null) as value,
  n_coins, n_beat_btc, n_universe, btc_return, excluded, final,
  {{ written_minute() }} as tick_ms
from counted
