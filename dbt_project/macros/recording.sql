{#- The outcome of recording per minute, venue and endpoint: the basis of gaps and of the status table. -#}

{#- For how many minutes a response is valid, by kind. If a kind is not requested again by then, the minutes after that
    are a gap, as every minute without a response is one for kinds that are requested every minute. Kinds whose markets
    are requested in turns (a part every minute, each market once an hour) are among the hourly ones. The venues'
    declarations decide how often a kind is requested: tests/ingest/venues/test_venues.py fails if these minutes
    differ from them. -#}
{% macro cadences() %}
    {{ return({
        1: ["perp_tickers", "spot_tickers", "product_tickers", "funding", "funding_intervals", "open_interest", "marks",
            "index_tickers", "fx_rates", "liquidations"],
        2: ["order_books"],
        5: ["index_books", "long_short_accounts", "long_short_top_accounts", "long_short_top_positions", "taker_ratio",
            "contract_stats", "option_tickers", "option_open_interest", "option_volumes", "option_index"],
        60: ["instruments", "spot_instruments", "option_instruments", "perp_dexes", "index_components", "settlements",
            "fx_daily"],
    }) }}
{% endmacro %}

{#- Kinds that are requested (or subscribed to) every minute. Bars are requested every minute too, but a minute counts
    as recorded when its bar is there, whenever it arrives. -#}
{% macro sampled_endpoints() %}('{{ cadences()[1] | join("', '") }}'){% endmacro %}
{% macro bar_endpoints() %}('perp_bars', 'spot_bars'){% endmacro %}
{% macro standing_endpoints() -%}
{%- set found = [] -%}
{%- for minutes, kinds in cadences().items() if minutes > 1 -%}{%- do found.extend(kinds) -%}{%- endfor -%}
('{{ found | join("', '") }}')
{%- endmacro %}

{#- For how long a response is valid, ms; null for kinds that are not listed. -#}
{% macro cadence_ms(endpoint="endpoint") -%}
case
    {%- for minutes, kinds in cadences().items() %}
    when {{ endpoint }} in ('{{ kinds | join("', '") }}') then {{ minutes * 60000 }}
    {%- endfor %}
  end
{%- endmacro %}
{% macro longest_cadence_ms() -%}{{ cadences().keys() | max * 60000 }}{%- endmacro %}

{#- Columns tick_ms, venue, endpoint, outcome, error for the minutes that satisfy `scope`. A stream counts as complete
    if every one of its connections listened for the whole minute. Backfilled rows are not counted. -#}
{% macro endpoint_outcomes(scope) -%}
  select
    tick_ms, venue, endpoint, error,
    case
      when failed = 0 then 'ok'
      when ok > 0 then 'partial'
      when unreachable = requests then 'venue_unreachable'
      else 'venue_error'
    end as outcome
  from {{ ref("int_response_minutes") }}
  where {{ scope }} and not {{ is_backfilled() }}
  union all
  select
    tick_ms, venue, endpoint, max(error) as error,
    case
      when min(connected_ms) >= 60000 then 'ok'
      when max(connected_ms) > 0 then 'partial'
      else 'venue_unreachable'
    end as outcome
  from {{ ref("int_stream_minutes") }}
  where {{ scope }}
  group by tick_ms, venue, endpoint
{%- endmacro %}

{#- The minutes whose outcome a build decides: all that it touches, the minutes of the bars that it brings, and those in
    which its responses are valid. -#}
{% macro decided_minutes() -%}
select minute_ms from {{ ref("int_touched_minutes") }}
union select tick_ms - 60000 from {{ source("pipeline", "window_minutes") }}
union select tick_ms + unnest(range(0, {{ longest_cadence_ms() }}, 60000)) from {{ source("pipeline", "window_minutes") }}
{%- endmacro %}

{#- The decided minutes, merged into intervals: there are few, so that comparing them with every stored run is cheap.
    -#}
{% macro decided_intervals() -%}
{{ merge_intervals("(select 0 as one, minute_ms as start_ms, minute_ms + 60000 as end_ms from (" ~ decided_minutes() ~ "))", "one") }}
{%- endmacro %}

{#- Starts of the stored runs that overlap or touch a decided minute. -#}
{% macro runs_to_replace() -%}
select distinct runs.start_ms
from {{ this }} as runs
join ({{ decided_intervals() }}) as decided on runs.start_ms <= decided.end_ms and runs.end_ms >= decided.start_ms
{%- endmacro %}

{#- The incremental strategy of recording_runs: the runs that the build has read are replaced by the new ones. -#}
{% macro get_incremental_replace_runs_sql(arg_dict) %}
  {%- set target = arg_dict["target_relation"] -%}
  {%- set columns = arg_dict["dest_columns"] -%}
  delete from {{ target }} where start_ms in ({{ runs_to_replace() }});
  insert into {{ target }} ({{ columns }}) select {{ columns }} from {{ arg_dict["temp_relation"] }}
{% endmacro %}
