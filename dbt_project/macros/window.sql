{#- Windows: the unit of a build, and how a model replaces exactly the buckets that a window touches.

    `pipeline.window_minutes` and `pipeline.window_files` say what is built. The pipeline opens a window before it runs dbt and
    closes it afterwards. By hand, `dbt run-operation open_window` opens one over minutes that are built already. -#}

{#- Before every `run` and `build`: refuse to build windowed models without a window, because that would rewrite tables from no rows,
    and refuse to build a model on others that hold the rows of a different window. -#}
{% macro require_window() %}
  {%- set state = run_query("select (select count(*) from pipeline.window_minutes), (select count(*) from pipeline.loads), "
    ~ "max(value) filter (name = 'opened_by'), coalesce(max(value) filter (name = 'built_by_hand'), '') from pipeline.settings").rows[0]
    if execute and flags.WHICH in ("run", "build") else (1, 0, none, "") -%}
  {%- if state[0] == 0 and windowed(selected_resources) -%}
    {%- if state[1] -%}
      {%- set built = run_query("select " ~ as_minute("min(min_tick_ms)") ~ ", " ~ as_minute("max(max_tick_ms)") ~ " from pipeline.loads").rows[0] -%}
      {{ exceptions.raise_compiler_error("No window is open, so there are no minutes to build. This warehouse has built the minutes from "
        ~ built[0] ~ " to " ~ built[1] ~ " UTC. To build the newest of them again: dbt run-operation open_window. To build others again: "
        ~ "dbt run-operation open_window --args '{first: \"" ~ built[0] ~ "\", last: \"" ~ built[1] ~ "\"}'. "
        ~ "To build what was recorded since: tidemark build.") }}
    {%- endif -%}
    {%- do log("Nothing has been built in this warehouse yet: its tables are created without rows. To record and build: tidemark demo.", info=true) -%}
  {%- elif state[2] == "hand" -%}
    {%- set others = [] -%}
    {%- for id in ancestors(windowed(selected_resources)) if id not in selected_resources -%}
      {%- if windowed([id]) and graph.nodes[id].name not in state[3].split(" ") -%}{%- do others.append(graph.nodes[id].name) -%}{%- endif -%}
    {%- endfor -%}
    {%- if others -%}
      {{ exceptions.raise_compiler_error("The open window is not built in " ~ others | sort | join(", ") ~ ", which the selected models "
        ~ "read: select these too (dbt run --select +<model>), or build everything once (dbt run).") }}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}

{#- After every run: record which models hold the window that was opened by hand. -#}
{% macro note_built() %}
  {%- set built = [] -%}
  {%- for result in results if result.status == "success" and windowed([result.node.unique_id]) -%}{%- do built.append(result.node.name) -%}{%- endfor -%}
  {%- if execute and built and run_query("select 1 from pipeline.settings where name = 'opened_by' and value = 'hand'").rows -%}
update pipeline.settings set value = concat_ws(' ', value, '{{ built | join(" ") }}') where name = 'built_by_hand'
  {%- endif -%}
{% endmacro %}

{#- After every run: store the result of each test that ran, for /api/methodology; the newest result of a test counts. -#}
{% macro note_tested() %}
  {%- set rows = [] -%}
  {%- for result in results if result.node.resource_type in ("test", "unit_test") -%}
    {%- do rows.append("('" ~ result.node.name ~ "', '" ~ result.status ~ "', " ~ (result.failures if result.failures is not none else "null")
      ~ ", '" ~ (result.message or "") | replace("'", "''") | truncate(500) ~ "', epoch_ms(now()))") -%}
  {%- endfor -%}
  {%- if rows -%}
merge into pipeline.test_results using (values {{ rows | join(", ") }}) as noted(test, status, failures, message, tested_ms) using (test)
when matched then update set status = noted.status, failures = noted.failures, message = noted.message, tested_ms = noted.tested_ms
when not matched then insert
  {%- endif -%}
{% endmacro %}

{#- After a run that the pipeline started: store when each model was built, for the timeline of the edition. -#}
{% macro note_times() %}
  {%- set rows = [] -%}
  {%- for result in results if result.node.resource_type == "model" and result.timing -%}
    {%- do rows.append("('" ~ result.node.name ~ "', epoch_ms('" ~ result.timing[0].started_at ~ "'::timestamptz), epoch_ms('"
      ~ result.timing[-1].completed_at ~ "'::timestamptz))") -%}
  {%- endfor -%}
  {%- if execute and rows and run_query("select 1 from pipeline.settings where name = 'opened_by' and value = 'pipeline'").rows -%}
delete from pipeline.model_times; insert into pipeline.model_times values {{ rows | join(", ") }}
  {%- endif -%}
{% endmacro %}

{#- The nodes among these that a window updates. -#}
{% macro windowed(ids) %}
  {%- set found = [] -%}
  {%- for id in ids if id in graph.nodes and graph.nodes[id].config.materialized == "windowed" -%}{%- do found.append(id) -%}{%- endfor -%}
  {{ return(found) }}
{% endmacro %}

{#- These nodes and all models that they depend on. -#}
{% macro ancestors(ids) %}
  {%- set found = ids | list -%}
  {%- for id in found -%}
    {%- for parent in graph.nodes[id].depends_on.nodes if parent in graph.nodes and parent not in found -%}{%- do found.append(parent) -%}{%- endfor -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}

{% macro as_minute(expression) -%}strftime(make_timestamp({{ expression }} * 1000), '%Y-%m-%d %H:%M'){%- endmacro %}

{#- Open a window over built minutes, by hand: `first` and `last` are UTC times; without them, the newest minute. All
    triggers fire, so that every selected model is built. -#}
{% macro open_window(first=none, last=none) %}
  {%- do run_query(pipeline_tables()) -%}
  {%- set bounds = run_query("select "
    ~ ("epoch_ms(try_cast('" ~ first | replace("'", "") ~ "' as timestamp))" if first else "max(max_tick_ms)") ~ ", "
    ~ ("epoch_ms(try_cast('" ~ last | replace("'", "") ~ "' as timestamp))" if last else "max(max_tick_ms)") ~ " from pipeline.loads").rows[0] -%}
  {%- for name, text, ms in [("first", first, bounds[0]), ("last", last, bounds[1])] if text and ms is none -%}
    {{ exceptions.raise_compiler_error(name ~ " is '" ~ text ~ "', but it must be a UTC time such as '2026-03-04 00:00'.") }}
  {%- endfor -%}
  {%- if bounds[1] is none -%}
    {{ exceptions.raise_compiler_error("Nothing has been built in this warehouse, so there is no minute to build again: run tidemark build.") }}
  {%- endif -%}
  {%- set trimmed = run_query("select max(value::bigint) from pipeline.settings where name = 'trimmed_before_ms'").rows[0][0] or 0 -%}
  {%- if bounds[0] < trimmed -%}
    {{ exceptions.raise_compiler_error("The minutes before " ~ run_query("select " ~ as_minute(trimmed)).rows[0][0] ~ " UTC are trimmed: only their "
      ~ "coarser tiers are kept, which part of a day cannot rebuild. Choose a later `first`, or run tidemark build --rebuild.") }}
  {%- endif -%}
  {%- set files = run_query("select distinct file from pipeline.loads where file is not null and min_tick_ms <= " ~ bounds[1]
    ~ " and max_tick_ms >= " ~ bounds[0] ~ " order by 1").columns[0].values() -%}
  {%- set listed -%}[{% for file in files %}'{{ file | replace("'", "''") }}'{{ ", " if not loop.last }}{% endfor %}]{%- endset -%}
  {%- set minutes = run_query("select distinct tick_ms from read_parquet(" ~ listed ~ ") where tick_ms between " ~ bounds[0] ~ " and "
    ~ bounds[1] ~ " order by 1").columns[0].values() if files else [] -%}
  {%- if not minutes -%}
    {{ exceptions.raise_compiler_error("No minute from '" ~ first ~ "' to '" ~ last ~ "' UTC is built in this warehouse.") }}
  {%- endif -%}
  {%- set triggers = [] -%}
  {%- for node in graph.nodes.values() -%}{%- do triggers.extend(node.config.get("triggers") or []) -%}{%- endfor -%}
  {%- do run_query("begin; delete from pipeline.window_files; delete from pipeline.window_minutes; delete from pipeline.window_built; delete from pipeline.window_kept; "
    ~ "update pipeline.late_minutes set due = false; "
    ~ "insert into pipeline.window_files select unnest(" ~ listed ~ "); "
    ~ "insert into pipeline.window_minutes (tick_ms) select unnest(" ~ minutes | map("int") | list ~ "); "
    ~ "merge into pipeline.settings using (values ('opened_by', 'hand'), ('built_by_hand', ''), ('triggers', '"
    ~ triggers | unique | sort | join(" ") ~ "')) as noted(name, value) using (name) "
    ~ "when matched then update set value = noted.value when not matched then insert; commit") -%}
  {%- do log("The window holds " ~ minutes | length ~ " minutes. Now: dbt build", info=true) -%}
{% endmacro %}

{#- DuckDB's threads and memory, from the settings TIDEMARK_BUILD_THREADS and TIDEMARK_BUILD_MEMORY; without them DuckDB
    uses all cores and most of the memory. They are read at run time, so that other values do not make dbt parse again.
    -#}
{% macro build_resources() %}
  {%- set threads = env_var("TIDEMARK_BUILD_THREADS", "") if execute -%}
  {%- set memory = env_var("TIDEMARK_BUILD_MEMORY", "") if execute -%}
  {%- if threads %}set threads = {{ threads }};
  {% endif -%}
  {%- if memory %}set memory_limit = '{{ memory }}';
  {% endif -%}
{% endmacro %}

{#- DuckDB's settings for a window of one minute, the usual case: one thread, because a second one costs a quarter more
    CPU for so few rows; and no merging of small row groups, which would rewrite most of the newest hour at each
    checkpoint. Builds of an hour's first minute and of many minutes merge them, on all threads. A window of ten minutes
    counts as small: it is one that is late already, or of a backfill, and merging took 20 s of it. Compressions that take
    long to choose are left out; dict_fsst is the only one of texts in our files' form. Of DuckDB's optimizers, a window of
    what was recorded leaves out those that take longer with the long statements of a minute than they save. -#}
{% macro tuned_for_window() %}
  {%- set shape = run_query("select count(*) <= 10 and not coalesce(bool_or(tick_ms % 3600000 = 0), false), count(*) filter (backfilled_only) from "
    ~ source("pipeline", "window_minutes")).rows[0] if execute else (false, 0) -%}
  {%- if shape[0] -%}
  set threads = 1; set max_vacuum_tasks = 0; set disabled_compression_methods = 'fsst,zstd,alprd,chimp,patas,roaring'
    {%- if not shape[1] %}; set disabled_optimizers = 'statistics_propagation,common_subexpressions,common_subplan,window_self_join'{% endif %}
  {%- endif %}
{% endmacro %}

{#- Responses in the window's minutes that it does not read (raw_window): backfilled ones that earlier builds have, and in a
    window of backfilled rows alone everything else. -#}
{% macro is_built() -%}
if(
      {{ is_backfilled() }},
      (tick_ms, venue) in (select (b.tick_ms, b.venue) from {{ source("pipeline", "window_built") }} as b),
      tick_ms in (select w.tick_ms from {{ source("pipeline", "window_minutes") }} as w where w.backfilled_only)
    )
{%- endmacro %}

{#- Rows of the responses that the window reads. A staged table of a rare kind has those of the last window with its kind,
    which need not be this one: with a backfill, those of the past that was built a moment ago. -#}
{% macro of_window() -%}
tick_ms in (select w.tick_ms from {{ source("pipeline", "window_minutes") }} as w) and not ({{ is_built() }})
{%- endmacro %}

{#- The minutes that the window builds as a whole, as a query of `tick_ms`: not those of which it reads backfilled rows
    alone, whose recorded rows stay as they are. -#}
{% macro whole_minutes() -%}
select w.tick_ms from {{ source("pipeline", "window_minutes") }} as w where w.backfilled_only is not true
{%- endmacro %}

{#- True for a bar that may wait until it is restated, if its minute was recorded. Those of the markets that are asked every
    minute are younger. -#}
{% macro is_late() -%}
minute_ms < tick_ms - 300000
{%- endmacro %}

{#- The minutes that brought the late bars which this window restates, as a query of `tick_ms`: its own, and those that wait since
    windows before (LATE_EVERY in orchestration/warehouse/windows.py). -#}
{% macro restated_minutes() -%}
select w.tick_ms from {{ source("pipeline", "window_minutes") }} as w where w.backfilled_only is not true and w.late_waits is not true
union all
select l.tick_ms from {{ source("pipeline", "late_minutes") }} as l where l.due
{%- endmacro %}

{#- The end of a model with one row per minute, venue and endpoint: the stored rows of responses that are not read again. -#}
{% macro with_built() %}
{%- if is_update() %}
union all by name
select * from {{ this }}
where tick_ms in (select w.tick_ms from {{ source("pipeline", "window_minutes") }} as w) and {{ is_built() }}
{%- endif %}
{% endmacro %}

{#- The incremental strategy of every windowed model: delete the touched buckets, insert their new rows. `replace_on` is
    the time column, `replace_buckets` a query of the touched bucket starts. Literal bounds come first, so that DuckDB's
    zone maps skip older row groups however long the table is. -#}
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
