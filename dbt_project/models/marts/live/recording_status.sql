{{ config(incremental_strategy="replace_all", triggers=["recorded"]) }}
{#- The last outcome of each venue's recording. Metadata is requested once an hour: the last two hours hold the newest
    outcome of every endpoint. -#}
with outcomes as (
  {{ endpoint_outcomes("tick_ms between " ~ newest_minute() ~ " - 86400000 and " ~ newest_minute()) }}
),

endpoints as (
  select
    venue, endpoint, max_by(outcome, tick_ms) in ('ok', 'partial') as working,
    {{ cadence_ms() }} = min({{ cadence_ms() }}) over (partition by venue) as most_frequent
  from outcomes
  where tick_ms > {{ newest_minute() }} - 7200000
  group by venue, endpoint
),

good as (
  select venue, endpoint, max(end_ms) - 60000 as minute_ms
  from {{ ref("recording_runs") }}
  where outcome in ('ok', 'partial')
  group by venue, endpoint
),

-- The newest minute for which no endpoint among the most frequently sampled ones failed completely.
good_venues as (
  select venue, if(count(minute_ms) = count(*), min(minute_ms), null) as last_good_ms
  from endpoints left join good using (venue, endpoint)
  where most_frequent
  group by venue
),

errors as (
  select venue, max_by(endpoint || ': ' || error, tick_ms) as last_error, max(tick_ms) as last_error_ms
  from outcomes
  where outcome <> 'ok' and error is not null
  group by venue
)

select
  venue, any_value(last_good_ms) as last_good_ms, any_value(last_error) as last_error,
  any_value(last_error_ms) as last_error_ms,
  count(*) filter (working)::integer as ok_endpoints, count(*) filter (not working)::integer as failed_endpoints
from endpoints
left join good_venues using (venue)
left join errors using (venue)
group by venue
