{{ config(incremental_strategy="replace_all", triggers=["recorded", "after_history"]) }}
{#- Liquidations of the 24 hours that end with the edition, per coin whose markets a connected feed covers and for all
    coins (base null). Aggregated markets only, as in the series. -#}
{%- set now_ms = as_of_ms() %}
{%- set from_ms = now_ms - 86400000 %}
{%- set windows = {"1h": 3600000, "4h": 14400000, "12h": 43200000, "24h": 86400000} %}
{#- The totals of a window, as the fields of a struct; unknown if no feed was connected in it. -#}
{%- set counts = {} %}
{%- for name, window_ms in windows.items() %}
  {%- set inside = "ts > " ~ (now_ms - window_ms) %}
  {%- set connected = "(select max(tick_ms) + 60000 from connected) > " ~ (now_ms - window_ms) %}
  {%- set fields = [] %}
  {%- for side in ["long", "short"] %}
    {%- set sum = "coalesce(sum(usd) filter (side = '%s' and %s), 0.0)" % (side, inside) %}
    {%- do fields.append('"%s": if(%s, %s, null)' % (side, connected, sum)) %}
  {%- endfor %}
  {%- do fields.append('"count": if(%s, count(side) filter (%s), null)' % (connected, inside)) %}
  {%- do counts.update({name: fields | join(",\n        ")}) %}
{%- endfor %}
with events as materialized (
  select ts, venue, symbol, base, side, usd, price
  from {{ ref("int_liquidations") }}
  where ts > {{ from_ms }} and ts <= {{ now_ms }}
    -- Recorded at most an hour before their own time (the venue's clock may be ahead): a bound for the scan.
    and tick_ms > {{ from_ms - 3600000 }}
    and aggregated and usd is not null
),

connected as materialized (
  select venue, max(tick_ms) as tick_ms
  from {{ ref("int_stream_minutes") }}
  where endpoint = 'liquidations' and connected_ms > 0 and tick_ms between {{ from_ms - 60000 }} and {{ now_ms }}
  group by venue
),

-- Perps whose venue's feed was connected, and those that should be covered: the perps of venues that have a feed.
counted as (
  select base, count_if(connected.venue is not null)::integer as markets
  from {{ ref("live_markets") }} left join connected using (venue)
  where listed and type = 'perp' and counted and not hip3
  group by grouping sets ((base), ())
),

expected as (
  select base, count(*)::integer as markets
  from {{ ref("expected_markets") }}
  where list_contains(families, 'liquidations') and from_ms <= {{ now_ms }} and coalesce(to_ms > {{ now_ms }}, true)
  group by grouping sets ((base), ())
),

covered as (
  select distinct base from {{ ref("live_markets") }} semi join connected using (venue)
  where listed and type = 'perp' and counted and not hip3
  union
  select base from events
),

of_venues as (
  select base, venue, { {{ counts["24h"] }} } as figures from events group by grouping sets ((base, venue), (venue))
  union all
  select null, venue, {"long": 0.0, "short": 0.0, "count": 0} from connected anti join events using (venue)
),

venues as (
  select base, map_from_entries(list((venue, figures) order by venue)) as by_venue from of_venues group by base
),

{% for name, order, most in [
  ("biggest", "usd desc, ts desc, venue, symbol", 20), ("recent", "ts desc, usd desc, venue, symbol", 50)
] %}
{{ name }} as (
  select list({
    ts: ts, venue: venue, symbol: symbol, base: base, side: side, usd: usd, price: price
  } order by {{ order }}) as {{ name }}
  from (select * from events order by {{ order }} limit {{ most }})
),
{% endfor %}
totals as (
  {%- for subject in ["base", "null"] %}
  select
    {{ subject }} as base,
    { {%- for name in windows %}
      "{{ name }}": {
        {{ counts[name] }}
      }{{ "," if not loop.last }}
    {%- endfor %} } as totals
  from {{ "covered left join events using (base) group by base union all" if subject == "base" else "events" }}
  {%- endfor %}
),

covering as (
  select every.base, coalesce(counted.markets, 0) as markets, greatest(counted.markets, expected.markets, 0) as expected
  from (select distinct base from totals) as every
  left join counted on every.base is not distinct from counted.base
  left join expected on every.base is not distinct from expected.base
),

coins as (
  select list({
    base: base, markets: markets, expected: expected
    {%- for name in windows %},
    "{{ name }}": {"long": totals['{{ name }}']['long'], "short": totals['{{ name }}']['short']}
    {%- endfor %}
  } order by totals['24h']['long'] + totals['24h']['short'] desc, base) as coins
  from totals join covering using (base)
),

hours as (
  select unnest(range({{ now_ms - now_ms % 3600000 - 82800000 }}, {{ now_ms }} + 1, 3600000)) as t
),

timeline as (
  select list({t: t, "long": long_usd, "short": short_usd} order by t) as timeline
  from hours
  left join (
    select t, sum(liq_long_usd) as long_usd, sum(liq_short_usd) as short_usd
    from {{ ref("series_base_1h") }}
    where type = 'perp' and t between {{ now_ms - now_ms % 3600000 - 82800000 }} and {{ now_ms }}
    group by t
  ) using (t)
)

select
  totals.base,
  greatest(
    {{ from_ms }},
    (select min(start_ms) from {{ ref("recording_runs") }} where venue = ''),
    (
      -- The minute that is not over counts as recorded up to now. A gap that goes on ends now.
      select least(max(end_ms), {{ now_ms }}) from {{ ref("gaps") }}
      where end_ms > {{ from_ms }} and coalesce(endpoint, 'liquidations') = 'liquidations'
        and not (reason = 'partial' and end_ms > {{ now_ms }})
    )
  ) as since,
  covering.markets, covering.expected,
  totals.totals, coalesce(by_venue, map {}) as by_venue,
  {%- for name in ["coins", "biggest", "recent", "timeline"] %}
  if(totals.base is null, coalesce({{ name }}, []), null) as {{ name }}{{ "," if not loop.last }}
  {%- endfor %}
from totals
left join venues on totals.base is not distinct from venues.base
left join covering on totals.base is not distinct from covering.base
cross join coins
cross join biggest
cross join recent
cross join timeline
