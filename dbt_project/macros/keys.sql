{#- The incremental strategy of models whose rows are replaced by key: `replace_keys` lists the key's columns, the
    optional `replace_on` a time column of the key. Its literal bounds let DuckDB skip older row groups, however long
    the table is. -#}
{% macro get_incremental_replace_keys_sql(arg_dict) %}
  {%- set target = arg_dict["target_relation"] -%}
  {%- set source = arg_dict["temp_relation"] -%}
  {%- set keys = config.require("replace_keys") | join(", ") -%}
  {%- set column = config.get("replace_on") -%}
  {%- set columns = arg_dict["dest_columns"] -%}
  {%- set bounds = run_query("select count(*), " ~ ("min(%s), max(%s)" % (column, column) if column else "0, 0") ~ " from " ~ source).rows[0] -%}
  {% if bounds[0] %}
  delete from {{ target }}
  where {% if column %}{{ column }} between {{ bounds[1] }} and {{ bounds[2] }} and {% endif %}({{ keys }}) in (select ({{ keys }}) from {{ source }});
  {% endif %}
  insert into {{ target }} ({{ columns }}) select {{ columns }} from {{ source }}
{% endmacro %}

{#- The incremental strategy of append-only models: new rows are added, none is replaced. -#}
{% macro get_incremental_add_rows_sql(arg_dict) %}
  insert into {{ arg_dict["target_relation"] }} ({{ arg_dict["dest_columns"] }})
  select {{ arg_dict["dest_columns"] }} from {{ arg_dict["temp_relation"] }}
{% endmacro %}
