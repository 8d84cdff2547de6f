"""Two recorders that land into one landing: each minute and each event counts once, the better answer is used, and what
one of them missed is no gap. The result is that of one recorder that never failed."""

import json
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa

from ingest.landing.landing import land
from ingest.landing.rows import SCHEMA, Row, to_batch
from orchestration.config.settings import Settings
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import connection
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.pipeline_home import MINUTE, T0, minute_rows, settings_for, tables
from tests.support.pipeline.warehouse import give_built

SERVED = ("int_market_minutes", "int_market_bars", "series_market_1m", "series_base_1m", "series_market_1h", "gaps")


def event(ts: int, received_ms: int, size: str = "0.5") -> str:
    """A liquidation on Binance as a stream's row has it."""
    order: dict[str, object] = {
        "s": "BTCUSDT",
        "S": "SELL",
        "o": "LIMIT",
        "f": "IOC",
        "q": size,
        "p": "100",
        "ap": "100",
    }
    order |= {"X": "FILLED", "l": size, "z": size, "T": ts}
    return json.dumps({"received_ms": received_ms, "message": {"e": "forceOrder", "E": ts, "o": order}})


def listening(recorder: str, tick_ms: int, begin_s: int, end_s: int, *events: str) -> Row:
    """A period in which a recorder was connected."""
    begin_ms, end_ms = tick_ms + begin_s * 1000, tick_ms + end_s * 1000
    body = f"[{','.join(events)}]"
    return Row(tick_ms, "binance", "liquidations", f"@{recorder}", "{}", 101, begin_ms, end_ms, 1, None, body)


def minute(tick_ms: int, later_ms: int = 0, failing: Collection[str] = ()) -> list[Row]:
    """What one recorder has of a minute: asked so much later, and of some endpoints no answer."""
    rows = [row._replace(requested_ms=row.requested_ms + later_ms) for row in minute_rows(tick_ms)]
    refused = {"status": 500, "error": "HTTP 500", "body": None}
    return [row._replace(**refused) if row.endpoint in failing else row for row in rows]  # type: ignore[arg-type]


def land_rows(settings: Settings, rows: list[Row], recorder: str) -> None:
    land(pa.Table.from_batches([to_batch(rows)], SCHEMA), settings.landing, settings.home / recorder / "dlt")


def liquidations(settings: Settings) -> list[tuple[int, float]]:
    with connection(settings.warehouse, read_only=True) as con:
        return con.execute("select ts, size_base from int_liquidations order by all").fetchall()


def test_two_recorders_are_as_one_that_never_failed(tmp_path: Path) -> None:
    shared, alone = settings_for(tmp_path / "shared"), settings_for(tmp_path / "alone")
    turn, twice = T0 + MINUTE - 5, T0 + 90_000
    for settings in (shared, alone):
        give_dbt(settings)
        give_built(settings)
    first, second, third, fourth = (T0 + n * MINUTE for n in range(4))

    # Both are up; an event at the turn of the minute reaches b in the next one. It is built when b's load comes.
    # Binance shows the latest order of a second, so that two equal ones are one; of others they are two (see the unit
    # test of the model).
    both = [event(twice, twice + 40), event(twice, twice + 41)]
    a = {
        first: [*minute(first), listening("a", first, 0, 60, event(turn, turn + 2))],
        # Of two answers one is good; the same two equal liquidations reach both, and one reaches a alone.
        second: [
            *minute(second, failing=("funding",)),
            listening("a", second, 0, 60, *both, event(twice + 7, twice + 50, "0.25")),
        ],
        fourth: [*minute(fourth), listening("a", fourth, 0, 40)],
    }
    b = {
        first: [*minute(first, 300), listening("b", first, 0, 60)],
        second: [
            *minute(second, 300, failing=("perp_tickers", "perp_bars")),
            listening("b", second, 0, 60, event(turn, second + 3), *both),
        ],
        third: [*minute(third, 300), listening("b", third, 0, 60)],
        fourth: [*minute(fourth, 300), listening("b", fourth, 30, 60)],
    }
    land_rows(shared, a[first], "a")
    build(shared, report=quiet)
    land_rows(shared, b[first], "b")
    land_rows(shared, a[second], "a")
    build(shared, report=quiet)
    land_rows(shared, b[second] + b[third] + b[fourth], "b")
    build(shared, report=quiet)
    land_rows(shared, a[fourth], "a")
    build(shared, report=quiet)

    events = {first: [event(turn, turn + 2)], second: [*both, event(twice + 7, twice + 50, "0.25")]}
    for tick_ms in (first, second, third, fourth):
        heard = listening("c", tick_ms, 0, 60, *events.get(tick_ms, ()))
        land_rows(alone, [*minute(tick_ms), heard], "c")
    build(alone, report=quiet)
    assert liquidations(shared) == [(turn, 0.5), (twice, 0.5), (twice + 7, 0.25)]
    assert liquidations(alone) == liquidations(shared)
    assert tables(shared.warehouse, SERVED) == tables(alone.warehouse, SERVED)
