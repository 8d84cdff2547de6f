{#- Macros that all staging models share: reading the rows of a recorded body. How their fields
    are read is in fields.sql. -#}

{#- All staging models as (venue, kinds), in the order in which they are read. `kind<endpoint`: the view reads bodies
    that are recorded under another endpoint, because one response of the venue has several kinds; `kind<one+other`:
    under several endpoints. -#}
{% macro staged() %}
    {{ return([
        ("binance", ["instruments", "spot_instruments", "perp_tickers", "funding", "funding_intervals", "open_interest",
            "spot_tickers", "perp_bars", "spot_bars", "liquidations", "long_short_accounts", "long_short_top_accounts",
            "long_short_top_positions", "taker_ratio", "open_interest_history", "order_books", "index_books", "index_components", "settlements",
            "option_tickers", "option_open_interest", "option_volumes", "option_instruments", "option_index",
            "metrics_files<metrics_history", "perp_bars_files<perp_minutes_history",
            "spot_bars_files<spot_minutes_history", "settlements_files<funding_history", "mark_bars_files<mark_minutes_history",
            "index_bars_files<index_minutes_history", "premium_bars_files<premium_minutes_history",
            "liquidations_files<liquidations_history"]),
        ("bybit", ["instruments", "spot_instruments", "perp_tickers", "spot_tickers", "perp_bars", "spot_bars",
            "liquidations", "long_short_accounts", "open_interest_history", "order_books", "index_books", "index_components", "settlements",
            "option_tickers", "option_index<option_tickers"]),
        ("hyperliquid", ["instruments<perp_tickers", "spot_instruments<spot_tickers", "perp_dexes", "perp_tickers", "spot_tickers", "perp_bars",
            "perp_annotations", "settlements", "wallets<leaderboard", "wallet_positions", "liquidation_fills<liquidator_fills+wallet_fills",
            "open_interest_files<contexts_history"]),
        ("bitget", ["instruments", "spot_instruments", "perp_tickers", "funding", "spot_tickers", "perp_bars", "spot_bars",
            "liquidations", "long_short_accounts", "taker_ratio", "index_books", "index_components", "settlements",
            "perp_bars_files<perp_minutes_history", "spot_bars_files<spot_minutes_history"]),
        ("mexc", ["instruments", "spot_instruments", "perp_tickers", "funding", "spot_tickers", "perp_bars", "spot_bars",
            "index_books", "index_components<instruments", "settlements"]),
        ("gate", ["instruments", "spot_instruments", "perp_tickers", "spot_tickers", "perp_bars", "spot_bars",
            "liquidations", "long_short_accounts<contract_stats", "long_short_top_accounts<contract_stats", "long_short_top_positions<contract_stats", "taker_ratio<contract_stats", "open_interest_history<contract_stats",
            "liquidation_sums<contract_stats",
            "index_books", "index_components", "settlements", "perp_bars_files<perp_minutes_history", "settlements_files<funding_history",
            "spot_bars_files<spot_minutes_history"]),
        ("kucoin", ["instruments<perp_tickers", "spot_instruments", "perp_tickers", "spot_tickers", "perp_bars", "spot_bars",
            "index_books", "index_components", "settlements", "open_interest_history",
            "perp_bars_files<perp_minutes_history", "settlements_files<funding_history", "spot_bars_files<spot_minutes_history"]),
        ("okx", ["instruments", "spot_instruments", "perp_tickers", "funding", "open_interest", "marks", "index_tickers",
            "spot_tickers", "perp_bars", "spot_bars", "liquidations", "long_short_accounts", "long_short_top_accounts",
            "long_short_top_positions", "taker_ratio", "open_interest_history", "index_books", "index_components", "settlements",
            "option_tickers", "option_open_interest", "option_volumes",
            "perp_bars_files<perp_minutes_history", "settlements_files<funding_history", "spot_bars_files<spot_minutes_history"]),
        ("aster", ["instruments", "spot_instruments", "perp_tickers", "funding", "funding_intervals", "open_interest",
            "spot_tickers", "perp_bars", "spot_bars", "liquidations", "index_components", "settlements"]),
        ("lighter", ["instruments<perp_tickers", "spot_instruments<perp_tickers", "perp_tickers", "funding", "spot_tickers<perp_tickers", "perp_bars",
            "spot_bars", "liquidations", "settlements"]),
        ("upbit", ["spot_instruments", "spot_tickers", "spot_bars"]),
        ("bithumb", ["spot_instruments", "spot_tickers", "spot_bars"]),
        ("coinbase", ["spot_instruments", "spot_tickers", "spot_bars", "index_books"]),
        ("fx", ["fx_rates", "fx_daily"]),
        ("deribit", ["option_instruments", "option_tickers", "option_index"]),
    ]) }}
{% endmacro %}

{#- The content of the window as `<venue> <endpoint>`, the triggers that it fires (as `pipeline every_1h`, see windows.py), and
    the staging views whose rows are kept (as `kept <view>`); empty unless a model runs. With `built`, the caller reads
    raw_window, so that this is built: then it is the same for all later models of a run, which a minute's fifty models
    would otherwise ask for one by one. `graph` is the only thing that dbt lets the models of a run share. -#}
{% macro window_endpoints(built=false) %}
    {%- if execute and graph.window_of_run and graph.window_of_run[0] == invocation_id -%}
        {{ return(graph.window_of_run[1]) }}
    {%- endif -%}
    {%- set found = [] -%}
    {%- if execute -%}
        {%- set raw_window = this.incorporate(path={"schema": target.schema, "identifier": "raw_window"}) -%}
        {%- if load_relation(raw_window) -%}
            {%- set query -%}
                select distinct venue, endpoint from {{ raw_window }}
                union all
                select 'pipeline', unnest(string_split(value, ' ')) from pipeline.settings where name = 'triggers'
                union
                select 'pipeline', 'recorded' from ({{ whole_minutes() }})
                union all
                select distinct 'kept', view from pipeline.window_kept
            {%- endset -%}
            {%- for row in run_query(query).rows -%}
                {%- do found.append(row[0] ~ " " ~ row[1]) -%}
            {%- endfor -%}
        {%- endif -%}
        {%- if built -%}{%- do graph.update({"window_of_run": (invocation_id, found)}) -%}{%- endif -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}

{#- The endpoints that bring bodies of these kinds, recorded or backfilled, of any venue. -#}
{% macro endpoints_of(kinds) %}
    {%- set found = [] -%}
    {%- for venue, own in staged() -%}
        {%- for entry in own if entry.split("<")[0] in kinds -%}
            {%- for endpoint in entry.split("<")[-1].split("+") if endpoint not in found -%}
                {%- do found.extend([endpoint, "history_" ~ endpoint]) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}

{#- True if the window (as window_endpoints lists it) holds one of these endpoints or fires one of these triggers. -#}
{% macro window_holds(endpoints, window) %}
    {%- for name in window -%}
        {%- if name.split(" ")[1] in endpoints -%}{{ return(true) }}{%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}

{#- The staging models of these kinds as (venue, kind): all kinds if none are given, without those of `except`. While a
    model runs, only those whose bodies the window holds: most kinds are not requested every minute, and planning a view
    costs as much as reading a small body. -#}
{% macro staged_views(kinds=none, except=[]) %}
    {%- set found = [] -%}
    {%- set depends = ref("raw_window") -%}
    {%- set window = window_endpoints(built=true) -%}
    {%- for venue, own in staged() -%}
        {%- for entry in own -%}
            {%- set kind = entry.split("<")[0] -%}
            {%- if (kinds is none or kind in kinds) and kind not in except -%}
                {%- set name = "stg_" ~ venue ~ "__" ~ kind -%}
                {%- if not execute -%}
                    {#- Whatever the window holds: dbt learns the dependencies from these calls. -#}
                    {%- do found.append((venue, kind, ref(name))) -%}
                {%- else -%}
                    {%- set held = [] -%}
                    {%- for endpoint in entry.split("<")[-1].split("+") if venue ~ " " ~ endpoint in window or venue ~ " history_" ~ endpoint in window -%}
                        {%- do held.append(endpoint) -%}
                    {%- endfor -%}
                    {%- if held -%}
                        {%- set rows = kept_rows(name) if is_kept(name, window) else ref(name) -%}
                        {%- if rows -%}{%- do found.append((venue, kind, rows)) -%}{%- endif -%}
                    {%- endif -%}
                {%- endif -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}

{#- True if the view's rows of the window are kept (orchestration/warehouse/staged.py) and may be read from there: not those
    of a view with the tag `across_minutes`, which depend on the other minutes of the window. -#}
{% macro is_kept(view, window) %}
    {{ return("kept " ~ view in window and "across_minutes" not in graph.nodes["model." ~ project_name ~ "." ~ view].config.tags) }}
{% endmacro %}

{#- The kept rows of a view as a query; empty if it has none. Literal bounds let DuckDB skip the rest of a day. -#}
{% macro kept_rows(view) %}
    {%- set minutes = "pipeline.window_minutes" -%}
    {%- set kept = run_query("select file, (select min(tick_ms) from " ~ minutes ~ "), (select max(tick_ms) from " ~ minutes ~ ") "
        ~ "from pipeline.window_kept where view = '" ~ view ~ "' and file is not null order by 1").rows -%}
    {%- if not kept -%}{{ return("") }}{%- endif -%}
    {%- set files -%}{%- for row in kept -%}'{{ row[0] | replace("'", "''") }}'{{ ", " if not loop.last }}{%- endfor -%}{%- endset -%}
    {{ return("(select * from read_parquet([" ~ files ~ "], union_by_name = true) where tick_ms between " ~ kept[0][1] ~ " and "
        ~ kept[0][2] ~ " and tick_ms in (select w.tick_ms from " ~ minutes ~ " as w))") }}
{% endmacro %}

{#- The columns that the intermediate layer reads of each kind: those that a staging view of the kind may have besides
    the columns that every view has. A venue's view leaves out what the venue does not publish. A `contradiction` is a condition
    under which values within their domains cannot all be true: those `of` it are null then and count as outside of their domain. -#}
{% macro families() %}
    {{ return({
        "staged_instruments": {
            "kinds": ["instruments", "spot_instruments"],
            "columns": {
                "symbol": "varchar", "base_raw": "varchar", "base_fallback": "varchar", "quote": "varchar", "settle": "varchar",
                "contract_type": "varchar", "status": "varchar", "listed_ms": "bigint", "delisted_ms": "bigint",
                "contract_size": "double", "inverse": "boolean", "interval_h": "double", "hip3": "boolean",
                "category": "varchar[]",
            },
        },
        "staged_categories": {
            "kinds": ["perp_annotations"],
            "rare": true,
            "columns": {"symbol": "varchar", "category": "varchar[]"},
        },
        "staged_market_state": {
            "kinds": ["perp_tickers", "spot_tickers", "funding", "funding_intervals", "open_interest", "marks"],
            "columns": {
                "symbol": "varchar", "last_price": "double", "mark_price": "double", "index_price": "double",
                "vol24h_quote": "double", "vol24h_usd": "double", "open_interest": "double", "single_open_interest": "double",
                "open_contracts": "double", "open_interest_usd": "double", "funding_rate": "double", "interval_h": "double",
                "next_funding_ms": "bigint",
            },
        },
        "staged_bars": {
            "kinds": ["perp_bars", "spot_bars", "perp_bars_files", "spot_bars_files"],
            "columns": {
                "symbol": "varchar", "opened_ms": "bigint", "closed_ms": "bigint", "open": "double", "high": "double",
                "low": "double", "close": "double", "volume": "double", "volume_contracts": "double", "turnover": "double",
                "taker_buy_turnover": "double", "taker_buy_contracts": "double",
            },
            "contradiction": {"if": "high < greatest(open, low, close) or low > least(open, close)", "of": ["high", "low"]},
        },
        "staged_liquidations": {
            "kinds": ["liquidations"],
            "columns": {
                "symbol": "varchar", "side": "varchar", "ts": "bigint", "size": "double", "size_contracts": "double",
                "size_quote": "double", "price": "double",
            },
        },
        "staged_liquidation_samples": {
            "kinds": ["liquidations_files"],
            "rare": true,
            "columns": {
                "symbol": "varchar", "side": "varchar", "ts": "bigint", "size": "double", "size_contracts": "double", "price": "double",
            },
        },
        "staged_ratios": {
            "kinds": ["long_short_accounts", "long_short_top_accounts", "long_short_top_positions", "taker_ratio"],
            "rare": true,
            "columns": {
                "symbol": "varchar", "t": "bigint", "period_ms": "bigint", "long_fraction": "double", "taker_buy": "double",
                "taker_sell": "double", "unit": "varchar",
            },
        },
        "staged_wallet_fills": {
            "kinds": ["liquidation_fills"],
            "rare": true,
            "columns": {
                "symbol": "varchar", "ts": "bigint", "tid": "varchar", "wallet": "varchar", "role": "varchar",
                "side": "varchar", "size": "double", "price": "double",
            },
        },
        "staged_settlements": {
            "kinds": ["settlements", "settlements_files"],
            "rare": true,
            "columns": {"symbol": "varchar", "settled_ms": "bigint", "funding_rate": "double", "interval_h": "double"},
        },
        "staged_marks": {
            "kinds": ["mark_bars_files", "index_bars_files", "premium_bars_files"],
            "rare": true,
            "columns": {
                "symbol": "varchar", "opened_ms": "bigint", "closed_ms": "bigint", "open": "double", "high": "double",
                "low": "double", "close": "double",
            },
        },
        "staged_oi_history": {
            "kinds": ["open_interest_history", "open_interest_files"],
            "rare": true,
            "columns": {
                "symbol": "varchar", "t": "bigint", "period_ms": "bigint", "open_interest": "double",
                "single_open_interest": "double", "open_contracts": "double", "open_interest_usd": "double",
            },
        },
        "staged_metrics": {
            "kinds": ["metrics_files"],
            "rare": true,
            "columns": {
                "symbol": "varchar", "t": "bigint", "period_ms": "bigint", "open_interest": "double", "open_contracts": "double",
                "open_interest_usd": "double", "long_short_accounts": "double", "long_short_top_accounts": "double",
                "long_short_top_positions": "double",
            },
        },
        "staged_liquidation_sums": {
            "kinds": ["liquidation_sums"],
            "rare": true,
            "columns": {"symbol": "varchar", "t": "bigint", "period_ms": "bigint", "long_usd": "double", "short_usd": "double"},
        },
        "staged_books": {
            "kinds": ["order_books", "index_books"],
            "rare": true,
            "columns": {
                "symbol": "varchar", "ts": "bigint", "bids": "double[][]", "asks": "double[][]", "size_unit": "varchar",
            },
        },
        "staged_index_components": {
            "kinds": ["index_components"],
            "rare": true,
            "columns": {"symbol": "varchar", "exchange": "varchar", "pair": "varchar", "weight": "double"},
        },
        "staged_options": {
            "kinds": ["option_tickers", "option_open_interest", "option_volumes", "option_index"],
            "rare": true,
            "columns": {
                "instrument": "varchar", "coin": "varchar", "expiry_ms": "bigint", "strike": "double",
                "option_type": "varchar", "mark_iv": "double", "bid_iv": "double", "ask_iv": "double", "forward": "double",
                "mark_price_coins": "double", "open_interest_coins": "double", "volume_coins": "double",
                "volume_usd": "double", "index_price": "double",
            },
        },
        "staged_fx": {
            "kinds": ["fx_rates", "fx_daily"],
            "rare": true,
            "columns": {"pair": "varchar", "rate": "double", "ts": "bigint", "source": "varchar"},
        },
    }) }}
{% endmacro %}

{#- All rows of a family, read once per build: bodies are parsed here only. A `rare` family, which most windows do not
    have, keeps the rows of the last window that had it: models that read it have `triggers`, or filter by `tick_ms`.
    -#}
{% macro staged_rows(family) %}
{{ config(incremental_strategy="replace_all", tags=["window"], triggers=endpoints_of(families()[family].kinds) if families()[family].rare else none) }}
{%- set common = {"tick_ms": "bigint", "endpoint": "varchar", "key": "varchar", "requested_ms": "bigint",
    "received_ms": "bigint", "reject": "varchar", "outside": "integer"} %}
{%- set own = families()[family] %}
{%- set contradiction = own.contradiction or {"of": []} %}
select
    venue, kind, case when starts_with(kind, 'spot_') or kind = 'index_books' then 'spot' else 'perp' end as type
    {%- for columns in (common, own.columns) %}{% for name, type in columns.items() %},
    {%- if name in contradiction.of %} case when ({{ contradiction.if }}) is not true then {{ name }} end
    {%- elif name == "outside" and contradiction.of %} (outside + if({{ contradiction.if }}, {{ contradiction.of | length }}, 0))
    {%- else %} {{ name }}
    {%- endif %}::{{ type }} as {{ name }}{% endfor %}{% endfor %}
from (
    select null::varchar as venue, null::varchar as kind
        {%- for columns in (common, own.columns) %}{% for name, type in columns.items() %}, null::{{ type }} as {{ name }}{% endfor %}{% endfor %}
    where false
    {%- for venue, kind, view in staged_views(own.kinds) %}
    union all by name
    select '{{ venue }}' as venue, '{{ kind }}' as kind, * from {{ view }}
    {%- endfor %}
)
{% endmacro %}

{#- Kinds that come over a WebSocket: a row is a period of listening and not a response. -#}
{% macro stream_kinds() %}('liquidations', 'liquidator_fills'){% endmacro %}

{#- The key of a stream's row is `connection@recorder`: several recorders may listen to the same. Rows of before have no
    recorder. -#}
{% macro connection_of(key="key") -%}split_part({{ key }}, '@', 1){%- endmacro %}
{% macro recorder_of(key="key") -%}split_part({{ key }}, '@', 2){%- endmacro %}

{#- True for backfilled endpoints: `history_<kind>` has bodies in the format of `<kind>`, `<kind>_history` has bodies in
    a format of its own. The names are made in ingest/declaration/history.py; a test compares the two. -#}
{% macro is_backfilled(endpoint="endpoint") -%}
(starts_with({{ endpoint }}, 'history_') or ends_with({{ endpoint }}, '_history'))
{%- endmacro %}

{#- The same as a value of the column `source`. -#}
{% macro source_of_endpoint(endpoint="endpoint") -%}
case when {{ is_backfilled(endpoint) }} then 'backfilled' else 'recorded' end
{%- endmacro %}

{#- One row `r` per element of `rows`, a list that SQL extracts from `body`, recorded or backfilled. TRY keeps a broken
    body from failing the whole query: it becomes one row with r null, as does an empty list if the venue's list is
    never empty. If a minute has several backfilled responses to the same request, the newest counts. -#}
{% macro recorded(venue, kind, rows, may_be_empty=false) %}
    {%- set backfilled = kind not in families()["staged_market_state"].kinds and kind not in stream_kinds() %}
    {%- set answered -%}
        venue = '{{ venue }}' and endpoint in ('{{ kind }}'{% if kind not in families()["staged_market_state"].kinds %}, 'history_{{ kind }}'{% endif %})
        and {{ "status = 101" if kind in stream_kinds() else "status between 200 and 299" }}
    {%- endset %}
    select
        tick_ms, endpoint, key, params, requested_ms, received_ms,
        unnest({% if may_be_empty %}coalesce(items, [null]){% else %}case when len(items) > 0 then items else [null] end{% endif %}) as r
    from (
        select tick_ms, endpoint, key, params, requested_ms, received_ms, try({{ rows }}) as items
        from (
            select *
            from {{ ref('raw_window') }}
            where {{ answered }}
                {%- if backfilled %}
                -- Grouped apart from the bodies: a window function would copy them.
                and (
                    not {{ is_backfilled() }}
                    or (tick_ms, endpoint, key, params, requested_ms) in (
                        select (tick_ms, endpoint, key, params, max(requested_ms)) from {{ ref('raw_window') }}
                        where {{ answered }} and {{ is_backfilled() }}
                        group by tick_ms, endpoint, key, params
                    )
                )
                {%- endif %}
        )
    )
{% endmacro %}
