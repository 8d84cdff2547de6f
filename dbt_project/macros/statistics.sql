{#- What statistics share: the windows that are asked for by name, and when the venues' past has been told. -#}

{#- Windows by name, in days, as a table (lookback, days). -#}
{% macro named_windows(windows) -%}
(select unnest([
    {%- for name, days in windows.items() -%}
    {lookback: '{{ name }}', days: {{ days }}::bigint}{{ ", " if not loop.last }}
    {%- endfor -%}
  ], recursive := true))
{%- endmacro %}

{#- The windows in which funding is looked at. -#}
{% macro funding_windows() %}{{ return({"7d": 7, "30d": 30}) }}{% endmacro %}

{#- Whether two funding rates are the same one: the mean of an hour in which a rate did not move may be the number beside it,
    by the order of adding. No venue tells nine digits of a rate. -#}
{% macro same_rate(one, other) -%}abs({{ one }} - {{ other }}) <= 1e-9 * abs({{ other }}){%- endmacro %}

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

{#- Whether the venues' past has been told as far as it is: its fetching is not under way, and what came has been built.
    Days are only written for good when it has, or the first part of a backfill would be all that they ever know. -#}
{% macro history_rests(now_ms) -%}
{%- set told_ms = [known_ms(ref("int_history_bars"), "max(tick_ms)"), known_ms(ref("int_history_oi"), "max(tick_ms)")] | max -%}
{%- set fetching = known_ms(source("pipeline", "settings"), "max((name = 'fetching' and value = 'true')::int)") -%}
{{ return(told_ms <= now_ms - 600000 and not fetching) }}
{%- endmacro %}

{#- The first of some days of a table, as a query lists them, as a number for scans of long tables; `otherwise` if there is
    none. -#}
{% macro first_of(relation, days, otherwise) -%}
{%- set known = execute and load_relation(relation) -%}
{{ return((run_query("select min(t) from (" ~ days ~ ")").rows[0][0] if known else none) or otherwise) }}
{%- endmacro %}

{#- The tick by which a publish finds what a build wrote; outside of a window the newest minute. -#}
{% macro written_tick() -%}
coalesce((select max(tick_ms) from {{ source("pipeline", "window_ticks") }}), {{ newest_minute_ms() }})
{%- endmacro %}
