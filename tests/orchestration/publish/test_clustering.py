"""The order of a replica's rows: finished periods by coin, late rows, days and months compacted step by step."""

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.config.settings import Settings
from orchestration.publish import clustering
from orchestration.publish.publish import prepare_next
from tests.support.pipeline.marts import COINS, T0, MartWarehouse, assert_same, quiet, rows, served


def test_late_rows_restate_clustered_periods(few: MartWarehouse) -> None:
    """Finished hours are ordered by coin; a late row goes in, and the hour is in order again two hours on."""
    for minute in (0, 10, *range(30, 4 * 60, 30)):
        few.build(T0 + minute * MINUTE_MS)
        few.publish()
    few.build(T0 + 4 * HOUR_MS, late=((T0 + 5 * MINUTE_MS, "C3"), (T0 + 10 * MINUTE_MS, "C7")))
    few.publish()
    # More of them may come: the hour is put in order when nothing was written to it for a quarter of an hour.
    for minutes, late in ((1, ((T0 + 6 * MINUTE_MS, "C3"),)), (2, ()), (15, ()), (17, ()), (18, ())):
        few.build(T0 + 4 * HOUR_MS + minutes * MINUTE_MS, late=late)
        few.publish()
        assert_same(few)
        hours = rows(
            served(few),
            "select period_ms, is_clustered, is_late from clustered where table_name = 'series_market_1m' order by 1",
        )
        waits = minutes < 17
        assert hours[:2] == [(T0, True, waits), (T0 + HOUR_MS, True, False)], minutes
        assert hours[-1] == (T0 + 4 * HOUR_MS, False, False)
        stored = rows(served(few), f"select base, t from series_market_1m where t < {T0 + HOUR_MS} order by rowid")
        assert (stored == sorted(stored)) is not waits


def test_a_finished_day_of_minutes_is_brought_together(few: MartWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clustered by hours first, then by coins for the whole day: some coins a publish, each replica by itself."""
    clock = itertools.count()
    monkeypatch.setattr(clustering, "COMPACT_ROWS", 4 * 3)
    monkeypatch.setattr(clustering, "LATE_ROWS", 2)
    of_day = f"from series_market_1m where t < {T0 + DAY_MS} order by rowid"
    state = f"select through, is_done from compacted where table_name = 'series_market_1m' and period_ms = {T0}"

    def published() -> list[tuple[Any, ...]]:
        """Publish; how far the day of the served replica is compacted."""
        few.publish(force=True)
        assert_same(few)
        return rows(served(few), state)

    def is_compacted() -> bool:
        lying = rows(served(few), f"select base, t {of_day}")
        return lying == sorted(lying)

    for hour in (0, 2, 23):
        few.build(T0 + hour * HOUR_MS)
    few.publish()
    few.build(T0 + DAY_MS + HOUR_MS)
    assert published() == [], "not all of it is clustered, and late bars may still come"
    assert not is_compacted()

    few.build(T0 + DAY_MS + 3 * HOUR_MS)
    with monkeypatch.context() as patch:
        patch.setattr(clustering, "time", SimpleNamespace(monotonic=lambda: next(clock) / 8))
        begun = until(published, lambda found: bool(found) and found[0][0] != "")
        assert begun == [("C3", False)], "some coins at a time"
    for _ in range(2):  # both replicas
        until(published, lambda found: found == [("", True)])
        assert is_compacted()
    # A late row is read where it lies; a whole minute begins the day again.
    few.build(T0 + DAY_MS + 3 * HOUR_MS, late=((T0 + 2 * HOUR_MS, "C3"),))
    assert published() == [("", True)]
    assert not is_compacted()
    few.build(T0 + 4 * HOUR_MS, T0 + DAY_MS + 4 * HOUR_MS)
    until(published, lambda found: found == [("", True)])
    assert is_compacted()


def until(
    act: Callable[[], list[tuple[Any, ...]]], reached: Callable[[list[tuple[Any, ...]]], bool]
) -> list[tuple[Any, ...]]:
    for _ in range(20):
        if reached(found := act()):
            return found
    raise AssertionError(found)


def test_the_replica_that_nobody_reads_is_put_in_order_after_a_minute(
    few: MartWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publishes of minutes leave finished hours as they are; each replica is put in order while the other is served."""
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path)})
    assert (settings.warehouse, settings.serving) == (few.path, few.serving)
    monkeypatch.setattr("orchestration.publish.publish.prepare_manifest", lambda *_: few.manifest)
    monkeypatch.setattr("orchestration.publish.publish.read_served", lambda _: few.served)
    minutes = iter(range(T0, T0 + 3 * HOUR_MS, 20 * MINUTE_MS))

    def minute() -> bool:
        """Build and publish one; whether the finished hours of what is served are in order."""
        few.build(next(minutes))
        few.publish(in_order=False)
        assert_same(few)
        lying = rows(served(few), "select t // 3600000, base, t from series_market_1m order by rowid")
        ended = [row for row in lying if row[0] < max(lying)[0]]
        return len(ended) > 2 * len(COINS) and ended == sorted(ended)

    assert not prepare_next(settings, report=quiet), "nothing is published"
    minute()
    assert not prepare_next(settings, report=quiet), "there is no other replica yet"
    found = list[tuple[bool, bool]]()
    for _ in range(7):
        found.append((minute(), prepare_next(settings, report=quiet)))
        before = (few.serving / "current.json").read_text()
    # The fourth and the seventh minute begin twenty minutes after an hour has ended.
    assert found == [(False, False)] * 3 + [(False, True), (True, True), (False, False), (False, True)]
    assert (few.serving / "current.json").read_text() == before
    # A build of backfilled rows is copied into this replica too, once.
    few.write("insert into pipeline.past_minutes select max(build_id) + 1, 0 from pipeline.builds")
    minute()
    assert [prepare_next(settings, report=quiet) for _ in range(2)] == [True, False]
    assert_same(few)


def test_a_refilled_replica_has_the_row_order_of_an_updated_one(few: MartWarehouse) -> None:
    for hour in (1, 2, 3, 30):
        few.build(T0 + hour * HOUR_MS)
    few.publish()
    lying = rows(served(few), f"select base, t from series_market_1m where t < {T0 + DAY_MS} order by rowid")
    assert len(lying) > 2 * len(COINS)
    assert lying == sorted(lying)
    done = "select period_ms, is_done from compacted where table_name = 'series_market_1m'"
    assert rows(served(few), done) == [(T0, True)]


def test_a_coin_s_premiums_are_brought_together_when_a_month_has_ended(
    few: MartWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours come one after the other, all coins in each. A publish compacts what its time allows, the next one more."""
    order = "select base, t from premiums order by rowid"
    for hour in range(0, 9, 3):
        few.build(T0 + hour * HOUR_MS)
        few.publish()
        few.publish(force=True)
    stored = rows(served(few), order)
    assert stored != sorted(stored)
    april, clock, left = T0 + 40 * DAY_MS, itertools.count(), list[int]()
    monkeypatch.setattr(clustering, "time", SimpleNamespace(monotonic=lambda: next(clock) / 9))
    compacted = "select count(*) from clustered where table_name = 'premiums' and is_clustered"
    waiting = "select count(*) from duckdb_tables() where table_name = 'premiums_uncompacted'"
    for minute in range(100):
        few.build(april + minute * MINUTE_MS)
        few.publish()
        everything = "select * from premiums order by all"
        assert rows(served(few), everything) == rows(few.path, everything)
        if rows(served(few), waiting) == [(1,)]:
            left += [number for (number,) in rows(served(few), "select count(*) from premiums_uncompacted")]
        elif left and rows(served(few), compacted) == [(1,)]:
            break
    assert 0 < min(left) < max(left) < len(COINS)
    # The running hour is rewritten each minute.
    stored = [row for row in rows(served(few), order) if row[1] < april]
    assert stored == sorted(stored)
    # Until the next month what is new stays as it comes.
    few.build(april + 5 * HOUR_MS)
    few.publish()
    stored = rows(served(few), order)
    assert stored != sorted(stored)
