"""The changes of each addition: new files, and lines inserted into existing files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Addition:
    """The files of one addition: path → content of a new file, or path → insertions (existing text, text after it).

    After the empty text means at the end of the file.
    """

    new: Mapping[str, str]
    edited: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    def apply(self, root: Path) -> None:
        for path, text in self.new.items():
            file = root / path
            assert not file.exists(), path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for path, insertions in self.edited.items():
            file = root / path
            for before, text in insertions:
                head, found, tail = file.read_text().partition(before) if before else (file.read_text(), "", "")
                assert found == before, (path, before)
                file.write_text(head + before + text + tail)


VENUE = Addition(
    new={
        "ingest/venues/toy.py": '''"""Toy: one request for all perps."""

from ingest.declaration.endpoint import Endpoint, Pool
from ingest.declaration.venue import Venue

TOY = Venue(
    name="toy",
    pools=(Pool("all", 60, 60),),
    endpoints=(Endpoint("perp_tickers", "api.toy.test", "/perps", "all"),),
)
''',
        "sandbox/market/listings/toy.py": '''"""Toy: one perp."""

from sandbox.market.listing import FIRST_MS, NEVER_MS, Listing


def listings() -> list[Listing]:
    """What it lists, over the years."""
    name = ("toy", "perp", "BTC-PERP", "BTC", "USDT", "BTC", "USDT")
    return [Listing(*name, 1.0, 1e8, FIRST_MS, NEVER_MS, 1, 3, ((0, 8),))]
''',
        "sandbox/venues/toy.py": '''"""Toy, simulated: all perps in one response."""

from sandbox.http.limits import Pool
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.wire.endpoint import Response, Endpoint, Request, json_response


def endpoints(world: World) -> list[Endpoint]:
    """Its only path."""
    row = world.universe.row["toy", "perp", "BTC-PERP"]

    def perps(request: Request) -> Response:
        state, last = world.minute(request.now_ms // 60_000), world.last(request.now_ms)[row]
        perp = {"name": "BTC-PERP", "coin": "BTC", "last": last, "day": state.quote_24h[row], "held": state.oi[row]}
        return json_response([{name: str(value) for name, value in perp.items()}])

    return [Endpoint("toy", "api.toy.test", "/perps", perps, "toy")]


SIMULATED = SimulatedVenue(
    "toy", ("api.toy.test",), {"toy": Pool(60, 60_000)}, endpoints, lambda use, pool, now_ms: json_response({}, 429)
)
''',
        "dbt_project/models/staging/toy/stg_toy__perp_tickers.sql": """{%- set fields = {
    "symbol": word("r.name"),
    "last_price": price("r.last"),
    "mark_price": price("r.last"),
    "vol24h_usd": amount("r.day"),
    "open_interest": size("r.held"),
} %}
with recorded as (
    {{ recorded('toy', 'perp_tickers', "from_json(body,
        '[{\\"name\\":\\"VARCHAR\\",\\"last\\":\\"VARCHAR\\",\\"day\\":\\"VARCHAR\\",\\"held\\":\\"VARCHAR\\"}]')") }}
)

select
    tick_ms, endpoint, key, requested_ms, received_ms,
    {{ measured(fields, required=["symbol"]) }}
from {{ read("recorded", fields) }}
""",
        "dbt_project/models/staging/toy/stg_toy__instruments.sql": """{%- set fields = {
    "symbol": word("r.name"),
    "base_raw": word("r.coin"),
} %}
with recorded as (
    {{ recorded('toy', 'perp_tickers', "from_json(body, '[{\\"name\\":\\"VARCHAR\\",\\"coin\\":\\"VARCHAR\\"}]')") }}
)

select
    tick_ms, endpoint, key, requested_ms, received_ms, 'USDT' as quote, 'trading' as status,
    {{ measured(fields, required=["symbol"]) }}
from {{ read("recorded", fields) }}
""",
        "dbt_project/models/staging/toy/_toy.yml": """version: 2
models:
  - {name: stg_toy__perp_tickers, description: "One row per perp; open interest in coins, one side."}
  - {name: stg_toy__instruments, description: One row per perp.}
""",
    },
    edited={
        "dbt_project/macros/staging.sql": [
            (
                '        ("fx", ["fx_rates", "fx_daily"]),\n',
                '        ("toy", ["instruments<perp_tickers", "perp_tickers"]),\n',
            ),
        ],
        "dbt_project/seeds/venues.csv": [
            (
                "symbol_has_quote,oi_factor,oi_source,liquidations,liquidations_source,perp_url,spot_url,"
                "perp_url_quote,taker_side\n",
                "toy,Toy,coins,true,1,its documents,none,its documents,https://toy.test/{symbol},,,false\n",
            ),
        ],
    },
)
METRIC = Addition(
    new={},
    edited={
        "dbt_project/models/metrics/_metrics.yml": [
            (
                "\nmetrics:\n",
                """  - name: toy_oi_coins
    label: Open interest in coins
    description: Open interest, one side, in coins.
    type: simple
    type_params: {measure: open_interest_usd}
    config:
      meta:
        api_name: toy-oi-coins
        unit: coins
        aliases: []
        fields: {v: {sql: oi_usd / price}}
        selectors: [base]
        types: [perp]
        endpoints: [perp_tickers]
        formula: v(b) = open interest in USD at the end of bucket b, divided by the price.
        caveats: [All markets are counted at one price.]
        source: Recorded open interest.
        version: 1

""",
            ),
            ("    url: /api/series/oi?base=BTC\n    depends_on: [\n", "      metric('toy_oi_coins'),\n"),
        ],
    },
)

ENDPOINT = Addition(
    new={
        "dbt_project/models/marts/live/toy_totals.sql": """{{ config(incremental_strategy="replace_all") }}
select count(*)::integer as n_perps, sum(oi_usd) as oi_usd
from {{ ref("int_market_minutes") }}
where type = 'perp' and minute_ms = {{ newest_minute() }}
""",
        "serve/endpoints/live/toy_totals.py": '''"""GET /api/toy-totals: all perps of the newest minute together."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader


@endpoint("/api/toy-totals", ttl=15, schema=object_of({"n_perps": INTEGER, "oi_usd": NUMBER_OR_NULL}))
def toy_totals(query: Values, db: Reader) -> Body:
    """How many perps are traded, and their open interest in USD."""
    return json_body(db.rows("select n_perps, oi_usd from toy_totals")[0])
''',
    },
    edited={
        "dbt_project/models/marts/live/_live.yml": [
            (
                "\nmodels:\n",
                """  - name: toy_totals
    description: All perps of the newest minute together, in one row.
    config: {meta: {served: snapshot}}
    columns:
      - {name: n_perps, data_type: integer, description: Perps that were observed.}
      - {name: oi_usd, data_type: double, description: "Their open interest, one side, USD."}
""",
            ),
            (
                "\nexposures:\n",
                """  - <<: *endpoint
    name: api_toy_totals
    label: /api/toy-totals
    url: /api/toy-totals
    depends_on: [ref('toy_totals')]

""",
            ),
        ],
    },
)

TOOL = Addition(
    new={
        "serve/mcp/tools/toy.py": '''"""toy_perps: how many perps are traded."""

from serve.mcp.tool import Tool, ToolResult
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, object_of
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span


def resolve(values: Values, edition: Edition, keyed: bool) -> tuple[()]:
    """There is one question."""
    return ()


def answer(query: tuple[()], db: Reader) -> ToolResult:
    span = Span(db.edition.as_of_ms - UNIT_MS["m"], db.edition.as_of_ms)
    perps = db.value("select count(*) from market_index where type = 'perp'")
    return ToolResult({"perps": perps}, {"perps": "markets"}, span, span, None, "market_index", "A count of all perps.")


TOY_PERPS = Tool(
    "toy_perps", "Perps", "How many perps there are.", {}, object_of({"perps": INTEGER}), resolve, answer
)
''',
    },
    edited={
        "dbt_project/models/marts/live/_live.yml": [
            (
                "\nexposures:\n",
                """  - <<: *tool
    name: mcp_toy_perps
    label: toy_perps (MCP)
    depends_on: [ref('market_index')]

""",
            ),
        ],
    },
)

STEP = Addition(
    new={
        "dbt_project/models/marts/series/series_market_8h.sql": '{{ rollup_market("8h") }}\n',
        "dbt_project/models/marts/series/series_base_8h.sql": '{{ rollup_base("8h") }}\n',
        "dbt_project/models/marts/series/series_venue_8h.sql": '{{ rollup_venue("8h") }}\n',
        "dbt_project/models/marts/series/series_ratios_8h.sql": '{{ ratio_view("8h", tier="1h") }}\n',
        "dbt_project/models/marts/series/series_venue_ratios_8h.sql": '{{ venue_ratios("8h") }}\n',
        "dbt_project/models/marts/series/series_depth_8h.sql": '{{ depth_view("8h", tier="1h") }}\n',
    },
    edited={
        "dbt_project/macros/time.sql": [('"4h": 14400000, ', '"8h": 28800000, ')],
        "dbt_project/models/marts/series/_series.yml": [
            (
                "      series_market_3d together, computed when it is read.\n    columns: *venue_columns\n",
                """
  - name: series_market_8h
    config: {meta: {served: tier, step: 8h, period: month, <<: *by_market, late: late_rows}}
    description: One row per market and 8 hours, rolled up from series_market_4h.
    columns: *market_columns
  - name: series_base_8h
    config: {meta: {served: tier, step: 8h, period: month, <<: *by_coin, late: late_rows}}
    description: One row per coin, type and 8 hours.
    columns: *base_columns
  - name: series_venue_8h
    config: {meta: {served: tier, step: 8h}}
    description: One row per coin, type, venue and 8 hours, computed when it is read.
    columns: *venue_columns
""",
            ),
        ],
        "dbt_project/models/marts/series/_positioning.yml": [
            (
                " days, the last one of series_depth_1h, computed when it is read.\n    columns: *depth_view_columns\n",
                """
  - name: series_ratios_8h
    config: {meta: {served: tier, step: 8h}}
    description: One row per market and 8 hours, computed from series_ratios_1h when it is read.
    columns: *ratio_view_columns
  - name: series_venue_ratios_8h
    config: {meta: {served: tier, step: 8h}}
    description: One row per coin, venue and 8 hours, computed when it is read.
    columns: *venue_ratio_columns
  - name: series_depth_8h
    config: {meta: {served: tier, step: 8h}}
    description: One row per perp and 8 hours, computed when it is read.
    columns: *depth_view_columns
""",
            ),
        ],
        "dbt_project/models/metrics/_metrics.yml": [
            (
                "      metric('bid_ask_ratio'), metric('candles'), ref('series_base_1m'),",
                " ref('series_base_8h'), ref('series_venue_8h'), ref('series_market_8h'), ref('series_ratios_8h'),"
                " ref('series_venue_ratios_8h'), ref('series_depth_8h'),",
            ),
        ],
    },
)

# By the words of the guide's table.
ADDITIONS = {
    "a venue": VENUE,
    "a metric from a column of the series": METRIC,
    "an endpoint": ENDPOINT,
    "a rollup step": STEP,
    "a tool": TOOL,
}
