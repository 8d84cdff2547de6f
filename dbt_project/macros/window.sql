{#- Windows (build units) and how a model replaces exactly the buckets that a window touches. -#}

{#- How DuckDB builds one minute, which is most windows: on one thread, because a second one costs a quarter more CPU for so
    few rows; and without joining what the minutes before left as small row groups, which writes most of the newest hour
    again at each checkpoint. The builds of an hour's first minute and of many minutes do join, on all threads. (What the
    minute before landed late is built with the next one: two ticks are few.) -#}
{% macro tuned_for_window() %}
  {%- set large = "select count(*) > 3 or bool_or(tick_ms % 3600000 = 0) from " ~ source("pipeline", "window_ticks") -%}
  {%- if execute and not run_query(large).rows[0][0] -%}
  set threads = 1; set max_vacuum_tasks = 0; set disabled_compression_methods = 'fsst,dict_fsst,zstd,alprd,chimp,patas,roaring'
  {%- endif -%}
{% endmacro %}

{#- The incremental strategy of every windowed model: drop the touched buckets, insert their new rows.
    `replace_on` is the time column, `replace_buckets` a query of the touched bucket starts. Literal bounds
    come first, so that zone maps spare the untouched past however long the table is. -#}
{% macro get_incremental_replace_buckets_sql(arg_dict) %}
  {%- set target = arg_dict["target_relation"] -%}
  {%- set source = arg_dict["temp_relation"] -%}
  {%- set column = config.require("replace_on") -%}
  {%- set buckets = config.require("replace_buckets") -%}
  {%- set bounds = run_query("select min(b) as lo, max(b) as hi from (" ~ buckets ~ ") as touched(b)") -%}
  {%- set lo = bounds.columns[0].values()[0] -%}
  {%- set hi = bounds.columns[1].values()[0] -%}
  {%- set columns = arg_dict["dest_columns"] -%}
  {% if lo is not none %}
  delete from {{ target }}
  where {{ column }} between {{ lo }} and {{ hi }}
    and {{ column }} in (select b from ({{ buckets }}) as touched(b));
  {% endif %}
  insert into {{ target }} ({{ columns }}) select {{ columns }} from {{ source }}
{% endmacro %}
