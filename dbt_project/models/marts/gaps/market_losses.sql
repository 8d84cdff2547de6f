{{ config(incremental_strategy="replace_all", triggers=["recorded"]) }}
{#- Per loss, the time until no more than a tenth of the venue's markets is missing. Markets that the venue's list
    confirms to be gone were not lost: a loss that consists of them has no row. -#}
{%- set kinds = {"oi": "open_interest", "funding": "funding"} %}
{%- set own = {"oi": [], "funding": []} %}
{%- for venue, listed in staged() -%}
  {%- for family, kind in kinds.items() if kind in listed -%}{%- do own[family].append(venue) -%}{%- endfor -%}
{%- endfor %}
with newest as (
  select venue, type, max(seen_ms) as seen_ms from {{ ref("instruments") }} where metadata group by venue, type
),

unexplained as (
  select lost.*
  from {{ ref("int_lost_markets") }} as lost
  left join {{ ref("instruments") }} as i using (market_id)
  left join newest on lost.venue = newest.venue and lost.type = newest.type
  where not coalesce({{ not_listed("i", "newest.seen_ms", "lost.lost_ms") }} or i.delisted_ms <= {{ newest_minute() }}, false)
),

losses as (
  select
    venue, type, family, lost_ms as start_ms, any_value(markets) as markets, count(*)::integer as lost,
    -- As many as must be back for nine tenths to be there.
    list_sort(list(back_ms), 'asc', 'nulls last')[count(*) - any_value(markets) // 10] as end_ms,
    count_if(back_ms is null)::integer as missing,
    list_slice(list(market_id order by market_id) filter (back_ms is null), 1, 5) as examples
  from unexplained
  group by venue, type, family, lost_ms
  having count(*) * 10 > any_value(markets)
)

select
  venue, type, family,
  case
    {%- for family, kind in kinds.items() %}
    when family = '{{ family }}' and venue in ('{{ own[family] | join("', '") }}') then '{{ kind }}'
    {%- endfor %}
    else type || '_tickers'
  end as endpoint,
  start_ms, end_ms, markets, lost, missing, examples
from losses
