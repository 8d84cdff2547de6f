-- A view: what changes every minute is in the two tables that it joins.
{{ config(materialized='view_in_place') }}
select
    l.* exclude (relisted_ms),
    coalesce(i.coin, l.named_base) as base
from {{ ref('int_listed_markets') }} as l
left join {{ ref('int_identity') }} as i on l.market_id = i.market_id and i.to_ms is null and i.named_base = l.named_base
