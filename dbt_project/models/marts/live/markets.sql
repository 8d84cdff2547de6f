{{ config(incremental_strategy="replace_all", triggers=["recorded", "after_history"]) }}
{#- Every coin as of the newest minute, with its markets. -#}
{%- set ages = ["1h", "4h", "24h"] %}
with entries as (
  select
    *,
    {
      venue: venue, symbol: symbol, quote: quote, price: price, vol24h: vol24h, funding: funding, oi_usd: oi_usd,
      {%- for name in ages %}
      px_{{ name }}: px_{{ name }},
      {%- endfor %}
      {%- for name in ages %}
      oi_{{ name }}: oi_usd / nullif(oi_usd_{{ name }}, 0) - 1,
      {%- endfor %}
      url: url, hip3: hip3
    } as entry
  from {{ ref("live_markets") }}
  where listed
),

expected as (
  select base, count(*) as markets
  from {{ ref("expected_markets") }}
  where from_ms <= {{ newest_minute_ms() }} and coalesce(to_ms > {{ newest_minute_ms() }}, true)
  group by base
),

-- The exchanges' words for a category, each under its one name.
words as (
  select distinct base, unnest(category) as word from {{ ref("live_markets") }} where listed
),

categories as (
  select w.base, list(distinct coalesce(c.category, w.word) order by coalesce(c.category, w.word)) as cat
  from words as w
  left join {{ ref("categories") }} as c on lower(w.word) = c.word
  where c.word is null or c.category is not null
  group by w.base
)

select
  base,
  count_if(counted)::integer as markets,
  greatest(count_if(counted), coalesce(any_value(expected.markets), 0))::integer as expected,
  sum(vol24h) filter (counted and type = 'perp') as perp_vol24h,
  sum(vol24h) filter (counted and type = 'spot') as spot_vol24h,
  sum(oi_usd) filter (counted) as oi_usd,
  {{ weighted_mean("if(counted, funding, null)", "oi_usd") }} as funding_avg,
  list(distinct venue order by venue) as venues,
  bool_and(hip3) as hip3,
  coalesce(any_value(categories.cat), []) as cat,
  {%- for name in ages %}
  sum(oi_usd) filter (counted and oi_usd_{{ name }} > 0)
    / sum(oi_usd_{{ name }}) filter (counted and oi_usd_{{ name }} > 0 and oi_usd is not null) - 1 as oi_{{ name }},
  {%- endfor %}
  if(count(funding) filter (counted and oi_usd > 0) > 1,
    max(funding) filter (counted and oi_usd > 0) - min(funding) filter (counted and oi_usd > 0), null) as funding_spread,
  {#- The largest first, nulls last. The finished lists are sorted, because sorting inside the aggregate takes three
      times as long. #}
  {%- for type, figures in {"perp": ["oi_usd", "vol24h"], "spot": ["vol24h"]}.items() %}
  list_transform(list_sort(coalesce(list({
    {% for name in figures %}{{ name }}: coalesce(-{{ name }}, 'inf'), {% endfor %}
    venue: venue, symbol: symbol, entry: entry
  }) filter (type = '{{ type }}'), [])), lambda one: one.entry) as {{ type }}s{{ "," if not loop.last }}
  {%- endfor %}
from entries
left join expected using (base)
left join categories using (base)
group by base
