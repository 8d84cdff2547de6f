{#- Macros that the statistics models share: named windows, and whether the backfill is complete. -#}

{#- Windows by name, in days, as a table (lookback, days). -#}
{% macro named_windows(windows) -%}
(select unnest([
    {%- for name, days in windows.items() -%}
    {lookback: '{{ name }}', days: {{ days }}::bigint}{{ ", " if not loop.last }}
    {%- endfor -%}
  ], recursive := true))
{%- endmacro %}

{#- The windows of funding statistics, in days. -#}
{% macro funding_windows() %}{{ return({"7d": 7, "30d": 30}) }}{% endmacro %}

{#- Whether two funding rates are equal up to floating-point error: the mean of an hour of equal rates may differ in the last
    digit, by the order of summing. No venue publishes nine digits of a rate. -#}
{% macro same_rate(one, other) -%}abs({{ one }} - {{ other }}) <= 1e-9 * abs({{ other }}){%- endmacro %}

{#- A quantile of funding rates. They are rounded first, as in `same_rate`: of rates that are equal every quantile is that
    rate, to the last bit, and p10 <= median <= p90. -#}
{% macro rate_quantile(rate, share) -%}round(quantile_cont(round({{ rate }}, 17), {{ share }}), 17){%- endmacro %}

{#- The perps that count in rankings by open interest, each with its rank among all and on its venue. -#}
{% macro perps_by_oi() -%}
select
    market_id, base, venue, symbol, oi_usd, funding, funding_ms,
    (row_number() over (order by oi_usd desc, market_id))::integer as rank,
    (row_number() over (partition by venue order by oi_usd desc, market_id))::integer as venue_rank
  from {{ ref("live_markets") }}
  where listed and type = 'perp' and counted and not hip3 and oi_usd > 0
{%- endmacro %}

{#- The newest UTC day that is over, with the minutes in which its last bars arrive. -#}
{% macro last_day_ms(now_ms) %}{{ return((now_ms - 300000) // 86400000 * 86400000 - 86400000) }}{% endmacro %}

{#- Whether the backfill is complete: no fetching is under way, and no backfilled row arrived in the last 10 minutes. Days are
    final only then: otherwise the first part of a backfill would be all that their values are computed from. -#}
{% macro history_is_complete(now_ms) -%}
{%- set newest_ms = [known_ms(ref("int_history_bars"), "max(tick_ms)"), known_ms(ref("int_history_oi"), "max(tick_ms)")] | max -%}
{%- set fetching = known_ms(source("pipeline", "settings"), "max((name = 'fetching' and value = 'true')::int)") -%}
{{ return(newest_ms <= now_ms - 600000 and not fetching) }}
{%- endmacro %}

{#- The first `t` of the query `days` over `relation`, as a literal for scans of long tables; `otherwise` if there is none. -#}
{% macro first_of(relation, days, otherwise) -%}
{%- set known = execute and load_relation(relation) -%}
{{ return((run_query("select min(t) from (" ~ days ~ ")").rows[0][0] if known else none) or otherwise) }}
{%- endmacro %}

{#- The `tick_ms` of written rows, by which a publish finds what a build wrote; without a window, the newest minute. -#}
{% macro written_minute() -%}
coalesce((select max(tick_ms) from {{ source("pipeline", "window_minutes") }}), {{ newest_minute_ms() }})
{%- endmacro %}
