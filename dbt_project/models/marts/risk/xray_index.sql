{{ config(incremental_strategy="replace_all", triggers=endpoints_of(["index_components", "index_books"])) }}
{#- The newest composition of every perp's index, a row per leg. -#}
select
  market_id, leg.exchange as exchange, coalesce(leg.pair, base) as pair, leg.weight as weight, since_ms
from (
  select market_id, base, since_ms, unnest(components) as leg
  from (
    select * from {{ ref("int_index_components") }}
    qualify row_number() over (partition by market_id order by since_ms desc) = 1
  )
)
