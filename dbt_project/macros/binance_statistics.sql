{#- Binance's statistics of one perp (/futures/data): lists of buckets, oldest first, of the period that was asked for. -#}

{#- The end of the bucket that Binance gives this label, ms: until 2026-06-25 labels were the ends of the buckets, since then
    they are the starts (https://github.com/binance/binance-public-data/issues/491; its own page still says "end"). States
    such as open interest are those of the end. The test published_open_interest_is_of_its_instant finds the next change. -#}
{% macro binance_bucket_end(label, period) -%}
if({{ label }} >= 1782345600000, {{ label }} + {{ period }}, {{ label }})
{%- endmacro %}

{#- True for the symbol of a COIN-M perp (BTCUSD_PERP). -#}
{% macro binance_is_coin_margined(symbol) -%}ends_with({{ symbol }}, '_PERP'){%- endmacro %}

{#- True for the symbol of a dated future (BTCUSDT_260327, BTCUSD_260327). -#}
{% macro binance_is_dated(symbol) -%}coalesce(contains({{ symbol }}, '_') and not ends_with({{ symbol }}, '_PERP'), false){%- endmacro %}

{#- Long shares. longAccount is the share that is long, also where positions are counted (longPosition at COIN-M, whose
    rows are named by the pair). -#}
{% macro binance_long_fractions(kind) -%}
{%- set fields = {
    "symbol": word("coalesce(r.symbol, key)"),
    "_label": time_ms("r.timestamp", past=true),
    "t": binance_bucket_end("_label", "period_ms") ~ " - period_ms",
    "long_fraction": fraction("coalesce(r.longaccount, r.longposition)"),
} %}
with recorded as (
    {{ recorded('binance', kind, "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"longAccount\":\"VARCHAR\",\"longPosition\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    {{ measured(fields, required=["symbol", "_label", "period_ms", "long_fraction"]) }}
from {{ read("recorded", fields) }}
{%- endmacro %}

{#- The instant of a row of the archive's metrics by its label. Files of days before 2026-06-25 have the ends of the buckets,
    the last file's last one is 00:00 of that day; files since then have the starts. -#}
{% macro binance_metrics_instant() -%}
if(params ->> '$.day' >= '2026-06-25', _label + period_ms, _label)
{%- endmacro %}

{#- A staging view of the archive's daily metrics: `fields` beside the symbol and the label, of rows that are lists of texts.
    The line that begins with no digit is the header. -#}
{% macro binance_metrics(fields) -%}
{%- set fields = dict({"symbol": word("r[2]"), "_label": time_of_text("r[1]", "%Y-%m-%d %H:%M:%S", past=true)}, **fields) -%}
with recorded as (
    {{ recorded_lines('binance', 'metrics_history') }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ period_ms("'5m'") }} as period_ms,
    {{ measured(fields, required=["symbol", "_label"]) }}
from {{ read("recorded", fields) }}
{%- endmacro %}

{#- Long fractions from the ratios (long ÷ short) of the metrics, in this column. -#}
{% macro binance_metrics_long_fractions(column) -%}
{{ binance_metrics({
    "t": binance_metrics_instant() ~ " - period_ms",
    "long_fraction": number("nullif(r[" ~ column ~ "], '')", "fraction", "{0} / (1 + {0})"),
}) }}
{%- endmacro %}
