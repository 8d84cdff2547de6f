-- Minutes are processed in order of time; a value that arrives late for an earlier time is inserted only where it
-- changes something.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'since_ms'],
    triggers=endpoints_of(families()['staged_instruments'].kinds)
) }}
{%- set terms = "(contract_size, multiplier, inverse, quote, settle)" %}
with fresh as (
    select
        l.market_id, s.tick_ms as since_ms, coalesce(s.contract_size, 1) as contract_size, l.multiplier,
        coalesce(s.inverse, false) as inverse, s.quote, s.settle
    from {{ ref('staged_instruments') }} as s
    join {{ ref('int_listed_markets') }} as l on s.venue = l.venue and s.type = l.type and s.symbol = l.symbol
    where s.reject is null
    qualify row_number() over (partition by l.market_id, s.tick_ms order by s.requested_ms desc) = 1
),

timeline as (
    select *, true as is_fresh from fresh
    {% if is_update() %}
    union all by name
    select *, false as is_fresh from {{ this }}
    {% endif %}
)

select market_id, since_ms, contract_size, multiplier, inverse, quote, settle
from timeline
qualify is_fresh and {{ terms }} is distinct from lag({{ terms }}) over (partition by market_id order by since_ms, is_fresh)
