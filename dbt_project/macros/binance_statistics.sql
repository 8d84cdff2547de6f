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

{#- The fields of a perp's bar, an array of texts: [open time, o, h, l, c, volume, close time, turnover, trades, bought by takers,
    turnover bought by takers, …]. Of COIN-M the volumes are contracts and the turnovers coins. -#}
{% macro binance_perp_bar_fields() -%}
{%- set coin_margined = binance_is_coin_margined("key") -%}
{{ return({
    "opened_ms": time_ms("r[1]", past=true),
    "closed_ms": time_ms("r[7]"),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("case when " ~ coin_margined ~ " then r[8] else r[6] end"),
    "volume_contracts": size("case when " ~ coin_margined ~ " then r[6] end"),
    "turnover": amount("case when not " ~ coin_margined ~ " then r[8] end"),
    "taker_buy_turnover": amount("case when not " ~ coin_margined ~ " then r[11] end"),
    "taker_buy_contracts": size("case when " ~ coin_margined ~ " then r[10] end"),
}) }}
{%- endmacro %}

{#- What such a bar must have. -#}
{% macro binance_perp_bar_required() -%}
{{ return(["opened_ms", "closed_ms", "open", "close", "volume", "coalesce(turnover, volume_contracts)",
    "coalesce(taker_buy_turnover, taker_buy_contracts)"]) }}
{%- endmacro %}

{#- A staging view of the archive's minutes of a value without trades: a price, or the premium, which is a fraction. -#}
{% macro binance_value_bars(endpoint, premium=false) -%}
{%- set fields = {"opened_ms": time_ms("r[1]", past=true), "closed_ms": time_ms("r[7]")} -%}
{%- for name in ["open", "high", "low", "close"] -%}
    {%- set text = "r[" ~ (loop.index + 1) ~ "]" -%}
    {%- do fields.update({name: rate(text, most=1) if premium else price(text)}) -%}
{%- endfor -%}
{{ file_view('binance', endpoint, fields, ["opened_ms", "closed_ms", "open", "close"]) }}
{%- endmacro %}

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
