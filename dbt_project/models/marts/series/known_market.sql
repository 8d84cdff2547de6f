{{ config(materialized="view_in_place") }}
{%- set minutes, hours = ref("known_minutes").include(database=false), ref("known_hours").include(database=false) %}
-- As in the tiers: an hour of history counts where nothing of its market was recorded.
with added as (
  select hours.*
  from {{ hours }} as hours
  anti join (
    select distinct {{ bucket("t", "1h") }} as t, market_id from {{ minutes }} where source <> 'backfilled'
  ) as recorded using (t, market_id)
),

parts as (
  select minutes.*
  from {{ minutes }} as minutes
  anti join added on minutes.market_id = added.market_id and {{ bucket("minutes.t", "1h") }} = added.t
  union all by name
  select * from added
),

{{ last_and_sums("asked", "parts") }}
