{#- Files of the venues' archives: their lines, and bars of minutes in them. -#}

{#- As `recorded`, of bodies that are CSV: `r` is the list of a line's texts. Lines are those that begin with a digit, others
    are headers, which some files have and some do not; `header` is how a header begins where lines begin with a name. -#}
{% macro recorded_lines(venue, kind, header=none) -%}
{%- set lines = "line <> '' and not starts_with(line, '" ~ header ~ "')" if header else "line >= '0' and line < ':'" -%}
    {#- Lines are split one query above: a list of lists of all texts of a large file would not fit into memory. -#}
    select * replace (string_split(rtrim(r, chr(13)), ',') as r)
    from (
        {{ recorded(venue, kind, "list_filter(string_split(body, chr(10)), lambda line: " ~ lines ~ ")", may_be_empty=true) }}
    )
{%- endmacro %}

{#- A time in a file as the text of its ms: files of one kind have ms or microseconds, by their era. -#}
{% macro ms_text(raw) -%}if(length({{ raw }}) > 14, left({{ raw }}, length({{ raw }}) - 3), {{ raw }}){%- endmacro %}

{#- The instant of five minutes that a time is at most half a minute away from; null if there is none. -#}
{% macro nearest_five_minutes(at_ms) -%}
case when ({{ at_ms }} + 30000) % 300000 <= 60000 then ({{ at_ms }} + 30000) // 300000 * 300000 end
{%- endmacro %}

{#- The end of the day that a file is of, UTC epoch ms. -#}
{% macro file_day_end_ms() -%}epoch_ms(try_cast(params ->> '$.day' as date) + interval 1 day){%- endmacro %}

{#- A staging view of a file's rows: `fields` beside the columns that every view has, and the length of the `period` that a row
    stands for. -#}
{% macro file_view(venue, kind, fields, required, header=none, symbol="key", period=none) -%}
with recorded as (
{{ recorded_lines(venue, kind, header) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {%- if symbol %}
    {{ symbol }} as symbol,
    {%- endif %}
    {%- if period %}
    {{ period_ms("'" ~ period ~ "'") }} as period_ms,
    {%- endif %}
    {{ measured(fields, required=required) }}
from {{ read("recorded", fields) }}
{%- endmacro %}

{#- Kinds whose bars are minutes of files. -#}
{% macro file_bar_kinds() %}{{ return(["perp_bars_files", "spot_bars_files"]) }}{% endmacro %}

{#- True for a closed minute that is stored as one: recorded, requested of the past, or of a file. Of the past, older ones have
    no tier, which keeps minutes for as many days; of files, their hours are stored (int_history_bars). -#}
{% macro is_stored_minute() -%}
opened_ms + 60000 <= tick_ms and closed_ms = opened_ms + 59999 and opened_ms % 60000 = 0
        and (opened_ms >= tick_ms - {{ minute_days() * 86400000 }} or not {{ is_backfilled() }})
{%- endmacro %}

{#- How many days of minutes the series keep: `keep_days` of the tier 1m, to which a test compares it. -#}
{% macro minute_days() %}{{ return(7) }}{% endmacro %}

{#- Writes the minutes of the window to `file=<file>/` in the folder of minutes: a post-hook of minute_files, before the commit. Rows
    are sorted as they are read: a coin's minutes of a day are in one or two row groups. -#}
{% macro write_minutes() %}
{%- if execute -%}
  {%- set minutes = ref("int_file_minutes") -%}
  {%- set files = run_query("select distinct file from " ~ this ~ " where window_id = (select min(tick_ms) || '-' || max(tick_ms) from " ~ minutes ~ ")") -%}
  {%- for (file,) in files.rows -%}
copy (select *, '{{ file }}' as file from {{ minutes }} order by base, market_id, t)
to '{{ minutes_folder() }}' (
  format parquet, partition_by (file), overwrite_or_ignore true, filename_pattern 'minutes_', compression zstd, row_group_size 61440
)
  {%- endfor -%}
{%- endif -%}
{% endmacro %}

{#- The folder of the minutes of files: `minutes` beside the warehouse if that is a file, else in TIDEMARK_HOME. -#}
{% macro minutes_folder() -%}
{%- set home = env_var("TIDEMARK_HOME", "") or "../data" -%}
{%- set folder = target.path.split("/")[:-1] | join("/") if "/" in target.path else home -%}
{{ return(folder ~ "/minutes") }}
{%- endmacro %}
