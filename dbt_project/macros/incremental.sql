{#- The materialization of every model that a build changes. dbt's own spends four descriptions, a schema comparison and a
    comment per column on each run of each model, a tenth of a second of CPU that a minute cannot afford two dozen times.
    Here a run is: new rows into a temporary table, then the model's strategy, in one transaction. Types, NOT NULL and
    comments are settled when the table is created; a table whose columns are not the model's is an error. A model with
    `only_with` (endpoints) does nothing in a window without any of them: the pipeline does not even ask for it. -#}
{% materialization incremental, adapter="duckdb", supported_languages=["sql"] %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type="table") -%}
  {%- set wanted = config.get("only_with") -%}
  {% if wanted is not none and existing is not none and not existing.is_view and not should_full_refresh() and not window_holds(wanted, window_endpoints()) %}
    {% call noop_statement("main", "SKIP", "SKIP") %}{% endcall %}
    {{ return({"relations": [target]}) }}
  {% endif %}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is none or existing.is_view or should_full_refresh() %}
    {% if existing is not none %}{% do adapter.drop_relation(existing) %}{% endif %}
    {% call statement("main") %}{{ create_table_as(False, target, compiled_code) }}{% endcall %}
    {% do persist_docs(target, model) %}
  {% else %}
    {%- set rows = make_temp_relation(target).incorporate(type="table", path={"database": none, "schema": none}) -%}
    {% do run_query("create temporary table " ~ rows ~ " as " ~ compiled_code) %}
    {%- set columns = declared_columns() or adapter.get_columns_in_relation(target) -%}
    {%- set strategy = adapter.get_incremental_strategy_macro(context, config.require("incremental_strategy")) -%}
    {% call statement("main") %}
      select case when count(*) <> {{ columns | length }}
        then error('the columns of {{ target }} are not those of the model: run it with --full-refresh') end
      from duckdb_columns()
      where (schema_name, table_name) = ('{{ target.schema }}', '{{ target.identifier }}') and database_name = current_database();
      {{ strategy({"target_relation": target, "temp_relation": rows, "dest_columns": columns,
        "unique_key": none, "incremental_predicates": none}) }};
      drop table {{ rows }}
    {% endcall %}
  {% endif %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({"relations": [target]}) }}
{% endmaterialization %}

{#- The columns of a model whose contract says them all, in the shape that strategies take; else nothing. -#}
{% macro declared_columns() %}
  {%- set columns = [] -%}
  {%- if config.get("contract").enforced -%}
    {%- for name in model.columns -%}{%- do columns.append({"name": name, "quoted": adapter.quote(name)}) -%}{%- endfor -%}
  {%- endif -%}
  {{ return(columns) }}
{% endmacro %}

{#- The strategy of tables that every build writes anew. -#}
{% macro get_incremental_replace_all_sql(arg_dict) %}
  {%- set columns = arg_dict["dest_columns"] | map(attribute="quoted") | join(", ") -%}
  delete from {{ arg_dict["target_relation"] }};
  insert into {{ arg_dict["target_relation"] }} ({{ columns }}) select {{ columns }} from {{ arg_dict["temp_relation"] }}
{% endmacro %}
