-- Of two values for the same time the one that was recorded later counts.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['pair', 'source', 't'], replace_on='t',
    triggers=endpoints_of(families()['staged_fx'].kinds)
) }}
with latest as (
    select pair, ts as t, rate, source, tick_ms
    from {{ ref('staged_fx') }}
    where reject is null and rate > 0
    qualify row_number() over (partition by pair, source, ts order by tick_ms desc, requested_ms desc) = 1
)

select new.*
from latest as new
{% if is_update() %}
-- A rate does not change on weekends: a value that is published again is not written again.
left join {{ this }} as old on new.pair = old.pair and new.source = old.source and new.t = old.t
where old.pair is null or (new.rate <> old.rate and new.tick_ms >= old.tick_ms)
{% endif %}
