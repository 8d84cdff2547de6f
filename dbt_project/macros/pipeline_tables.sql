{#- The tables that the pipeline keeps beside the models, created before every run if they are missing. The body is
    plain SQL without Jinja: `orchestration/warehouse/watermark.py` executes the same text. -#}
{% macro pipeline_tables() %}
create schema if not exists pipeline;
create table if not exists pipeline.window_files (file varchar);
create table if not exists pipeline.window_minutes (tick_ms bigint, backfilled_only boolean, late_waits boolean);
alter table pipeline.window_minutes add column if not exists backfilled_only boolean;
alter table pipeline.window_minutes add column if not exists late_waits boolean;
create table if not exists pipeline.window_built (tick_ms bigint, venue varchar);
create table if not exists pipeline.window_kept (view varchar, file varchar);
create table if not exists pipeline.late_minutes (tick_ms bigint, due boolean);
create table if not exists pipeline.loads (
    load_id varchar, file varchar, min_tick_ms bigint, max_tick_ms bigint, rows bigint, build_id bigint);
create table if not exists pipeline.builds (
    build_id bigint, started_ms bigint, finished_ms bigint, as_of_ms bigint, built_minutes bigint[],
    touched_minutes bigint[]);
create table if not exists pipeline.late_rows (build_id bigint, minute_ms bigint, market_id varchar, base varchar);
create table if not exists pipeline.late_ranges (
    build_id bigint, step_ms bigint, market_id varchar, base varchar, from_ms bigint, to_ms bigint);
create table if not exists pipeline.past_minutes as
    select build_id, unnest(built_minutes) as tick_ms from pipeline.builds;
create table if not exists pipeline.partial_loads (load_id varchar, through_tick_ms bigint);
create table if not exists pipeline.quarantine (
    quarantine_id bigint, state varchar, tick_ms bigint, venue varchar, endpoint varchar, key varchar, params varchar,
    requested_ms bigint, received_ms bigint, load_id varchar, file varchar, bytes bigint, models varchar, error varchar,
    alone boolean, set_aside_ms bigint, project varchar);
create table if not exists pipeline.test_results (
    test varchar, status varchar, failures bigint, message varchar, tested_ms bigint);
create table if not exists pipeline.compiled (model varchar, sql varchar);
create table if not exists pipeline.model_times (model varchar, started_ms bigint, finished_ms bigint);
create table if not exists pipeline.settings (name varchar, value varchar);
create table if not exists pipeline.built_by (project varchar, version varchar, manifest blob);
create table if not exists pipeline.upgrade_days (
    day_ms bigint, begin_ms bigint, next_ms bigint, end_ms bigint, models varchar[], from_version varchar,
    started_ms bigint, finished_ms bigint, error varchar);
create schema if not exists quality;
create table if not exists quality.suspect_rows (
    "check" varchar, market_id varchar, venue varchar, from_ms bigint, to_ms bigint, value varchar, expected varchar,
    seen_ms bigint);
{% endmacro %}
