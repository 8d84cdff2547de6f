{#- The materialization of every table. dbt's own spends four descriptions, a schema comparison and a comment per column on
    each run of each model, a tenth of a second of CPU that a minute cannot afford two dozen times. Here a run is: new
    rows into a temporary table, then the model's strategy, in one transaction. Types, NOT NULL and comments are settled
    when the table is created; a table whose columns are not those that the model describes is an error. A model with
    `triggers` (endpoints) does nothing in a window without any of them: the pipeline does not even ask for it. -#}
{% materialization incremental, adapter="duckdb", supported_languages=["sql"] %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type="table") -%}
  {%- set wanted = config.get("triggers") -%}
  {%- set anew = existing is none or existing.is_view or should_full_refresh() -%}
  {% if wanted is not none and not anew and not window_holds(wanted, window_endpoints()) %}
    {% call noop_statement("main", "SKIP", "SKIP") %}{% endcall %}
    {{ return({"relations": [target]}) }}
  {% endif %}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if anew %}
    {% if existing is not none %}{% do adapter.drop_relation(existing) %}{% endif %}
    {% call statement("main") %}{{ create_table_as(False, target, compiled_code) }}{% endcall %}
    {% do persist_docs(target, model) %}
  {% else %}
    {%- set strategy = config.require("incremental_strategy") -%}
    {%- set columns = model.columns | map("tojson") | join(", ") -%}
    {%- if strategy == "replace_all" -%}
      {%- set rows = "(" ~ compiled_code ~ "\n)" -%}
    {%- else -%}
      {%- set rows = make_temp_relation(target).incorporate(type="table", path={"database": none, "schema": none}) -%}
      {% do run_query("create temporary table " ~ rows ~ " as " ~ compiled_code) %}
    {%- endif -%}
    {%- set replace = adapter.get_incremental_strategy_macro(context, strategy) -%}
    {% call statement("main") %}
      select case when list(name order by name) <> {{ model.columns | sort }}
        then error('the columns of {{ target }} are not those of the model: run tidemark build --rebuild') end
      from pragma_table_info('{{ target.schema }}.{{ target.identifier }}');
      {{ replace({"target_relation": target, "temp_relation": rows, "dest_columns": columns, "unique_key": none,
        "incremental_predicates": none}) }};
      {% if strategy != "replace_all" %}drop table {{ rows }}{% endif %}
    {% endcall %}
  {% endif %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({"relations": [target]}) }}
{% endmaterialization %}

{#- The materialization of every view. dbt's own makes a view beside it, renames two and drops one, which doubles the cost
    of a first build; here a view is made in its place, in one transaction. -#}
{% materialization view, adapter="duckdb" %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type="view") -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% if existing is not none %}{% do adapter.drop_relation(existing) %}{% endif %}
  {% call statement("main") %}{{ get_create_view_as_sql(target, compiled_code) }}{% endcall %}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({"relations": [target]}) }}
{% endmaterialization %}

{#- The strategy of tables that every build writes anew: their rows need no stop on the way. -#}
{% macro get_incremental_replace_all_sql(arg_dict) %}
  delete from {{ arg_dict["target_relation"] }};
  insert into {{ arg_dict["target_relation"] }} ({{ arg_dict["dest_columns"] }})
  select {{ arg_dict["dest_columns"] }} from {{ arg_dict["temp_relation"] }}
{% endmacro %}
