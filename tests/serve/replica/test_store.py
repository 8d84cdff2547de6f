"""Publishing under readers: editions swap without an error, and readers recover from whatever happens to a replica."""

import asyncio
import contextlib
import os
import resource
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from serve.replica.edition import Reader
from serve.replica.store import WORKERS, Store
from serve.replica.unavailable import Busy, Unavailable
from tests.support.replica.replica import AS_OF_MS, MINUTE, wait_for_lock, write_pointer
from tests.support.replica.replica import publish as publish_replica
from tests.support.servers.api_server import ROOT, Api, free_port, running, until
from tests.support.servers.mcp_calls import Mcp

SERIES = "/api/series/price?base=BTC&range=6h"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    serving = tmp_path / "serving"
    publish(serving, 1)
    with running(serving, free_port()) as api:
        yield api


def publish(serving: Path, number: int) -> Path:
    """Publish an edition with little history."""
    return publish_replica(serving, number, as_of(number), max_days=1)


def as_of(edition: int) -> int:
    """Each edition of these tests is one minute."""
    return AS_OF_MS + edition * MINUTE


def edition(api: Api) -> int | None:
    """The edition that is served."""
    return api.get("/api/status").json["edition"]  # type: ignore[no-any-return]


def check_series(api: Api) -> int:
    """A series comes whole from one edition: its name, its end and its last bucket agree."""
    answer = api.get(SERIES)
    assert answer.status == 200, answer
    content = answer.json
    number = int(content["source"].partition("@e")[2])
    assert "db" not in content
    assert content["end"] == as_of(number)
    assert content["t"][-1] > as_of(number) - 3 * MINUTE
    return number


def check_varied(api: Api, number: int) -> int:
    """The same with a range that nobody asked for before, so that it is computed."""
    content = api.series("price", market="bybit:perp:ETHUSDT", range=f"{60 + number % 1000}m")
    assert content["end"] == as_of(int(content["source"].partition("@e")[2]))
    return int(content["source"].partition("@e")[2])


def check_markets(api: Api) -> int:
    """The snapshot names its edition by its as_of."""
    answer = api.get("/api/markets", Accept_Encoding="gzip")
    assert answer.status == 200, answer
    plain = api.get("/api/markets")
    return int((plain.json["server_ts"] - AS_OF_MS) // MINUTE)


@pytest.mark.requirement("edition:swap", "edition:bound", "edition:released")
def test_readers_see_no_error_while_editions_are_published(api: Api) -> None:
    """publish() waits until the server has let go of the file that it writes: were it kept, this would not end."""
    stop = threading.Event()
    seen: list[list[int]] = []
    failures: list[BaseException] = []

    def read(check: Callable[[int], int]) -> None:
        mine: list[int] = []
        seen.append(mine)
        with catching(failures):
            while not stop.is_set():
                mine.append(check(len(mine)))

    checks: list[Callable[[int], int]] = [
        lambda n: check_series(api),
        lambda n: check_series(api),
        *(lambda n, k=k: check_varied(api, n + 100 * k) for k in range(8)),
        lambda n: check_markets(api),
    ]
    readers = [threading.Thread(target=read, args=(check,)) for check in checks]
    for reader in readers:
        reader.start()
    etags = {api.get(SERIES).headers["etag"]}
    for number in range(2, 7):
        publish(api.serving, number)
        until(lambda: edition(api), lambda served, number=number: served == number, 5)  # type: ignore[misc]
        etags.add(api.get(SERIES).headers["etag"])
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert len(etags) == 6
    for mine in seen:
        assert mine == sorted(mine)
        assert (mine[0], mine[-1]) == (1, 6)
    assert api.log.read_text() == ""


@contextlib.contextmanager
def catching(failures: list[BaseException]) -> Iterator[None]:
    """Hand a thread's failure to the test."""
    try:
        yield
    except BaseException as failure:
        failures.append(failure)


def degraded(api: Api, query: str = "price?base=BTC") -> Any:
    """The content of a series answer, which is 200 whatever happens."""
    answer = api.get(f"/api/series/{query}")
    assert answer.status == 200, answer
    return answer.json


@pytest.mark.requirement("edition:recovers", "series:db:missing")
def test_a_missing_replica_and_its_return(api: Api) -> None:
    pointer = (api.serving / "current.json").read_text()
    (api.serving / "current.json").unlink()
    content = until(lambda: degraded(api), lambda got: got.get("db") is False)
    assert "error" not in content
    write_pointer(api.serving, pointer)
    assert until(lambda: degraded(api), lambda got: "db" not in got)["source"].endswith("@e1")
    replica = api.serving / "replica_b.duckdb"
    replica.rename(api.serving / "elsewhere")
    until(lambda: degraded(api), lambda got: got.get("db") is False)
    (api.serving / "elsewhere").rename(replica)
    until(lambda: degraded(api), lambda got: "db" not in got)


@pytest.mark.requirement("series:db:missing", "series:metric:unknown")
def test_an_edition_brings_what_may_be_requested(tmp_path: Path) -> None:
    def listed(name: str) -> Any:
        operation = server.get("/openapi.json").json["paths"]["/api/series/{metric}"]["get"]
        [found] = [one["schema"] for one in operation["parameters"] if one["name"] == name]
        return found.get("enum")

    with running(tmp_path / "serving", free_port()) as server:  # not by the command, which knows the metrics before
        assert degraded(server, "prise?base=BTC")["db"] is False
        assert (listed("metric"), listed("kind")) == (None, None)
        publish(server.serving, 1)
        until(lambda: edition(server), lambda served: served == 1)
        names = listed("metric")
        (server.serving / "current.json").unlink()
        until(lambda: degraded(server), lambda got: got.get("db") is False)
        assert {"price", "open-interest"} <= set(names)
        assert listed("metric") == names
        assert "did you mean 'price'?" in server.get("/api/series/prise?base=BTC").error
        assert "'whales'" in server.get("/api/series/long-short?base=BTC&kind=whales").error
        assert degraded(server, "long-short?base=BTC&kind=accounts")["db"] is False


@pytest.mark.requirement("edition:alone")
def test_a_server_needs_its_package_and_what_is_published(api: Api, tmp_path: Path) -> None:
    """It starts without the rest of the repository, and answers as it does with it."""
    alone = tmp_path / "alone"
    shutil.copytree(ROOT / "serve", alone / "serve", ignore=shutil.ignore_patterns("__pycache__"))
    check = f"import serve\nassert serve.__file__ == {str(alone / 'serve/__init__.py')!r}, serve.__file__\n"
    with running(api.serving, free_port(), before=check, root=alone) as other:
        for path in ("/openapi.json", SERIES, "/api/series/open-interest?base=ETH", "/api/markets", "/guide/"):
            assert other.get(path).status == 200, path
            assert other.get(path).body == api.get(path).body, path
        assert Mcp(other).result("tools/list") == Mcp(api).result("tools/list")


@pytest.mark.requirement("edition:recovers", "edition:released", "series:db:unreachable")
def test_a_broken_new_edition(api: Api) -> None:
    """The old one is served for a while, then let go: otherwise the publisher could never write a sound one."""
    (api.serving / "replica_a.duckdb").write_bytes(b"broken" * 10_000)
    write_pointer(api.serving, '{"replica": "replica_a.duckdb", "edition_id": 2}')
    assert check_series(api) == 1
    content = until(lambda: degraded(api), lambda got: got.get("db") is False, 60)
    assert content["error"] == "unavailable"
    wait_for_lock(api.serving / "replica_b.duckdb")
    assert str(api.serving) not in api.get("/api/markets").error
    publish(api.serving, 3)
    until(lambda: edition(api), lambda served: served == 3)
    assert check_series(api) == 3


@pytest.mark.requirement("edition:recovers", "series:db:unreachable")
def test_a_replica_cut_short_under_its_readers(api: Api) -> None:
    assert check_series(api) == 1
    path = api.serving / "replica_b.duckdb"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 50)
    counter = iter(range(1, 100_000))

    def another() -> Any:
        return degraded(api, f"volume?market=binance:perp:BTCUSDT&range={next(counter)}h&step=1h")

    content = until(another, lambda got: got.get("db") is False)
    assert (content["error"], content["t"]) == ("unavailable", [])
    publish(api.serving, 2)
    until(lambda: edition(api), lambda served: served == 2)
    assert check_series(api) == 2
    assert "Traceback" not in api.log.read_text()


@pytest.mark.requirement("edition:query-limit")
async def test_a_query_without_end_is_ended(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    publish(serving, 1)
    store = Store(serving, lambda: None, query_limit_s=1)
    await store.start()
    with store.current() as edition, pytest.raises(Unavailable, match="longer than"):
        await store.execute(
            edition, lambda db: db.value("select count(*) from range(100000000000) where range % 7 = 3")
        )
    with store.current() as edition:
        assert await store.execute(edition, lambda db: db.value("select edition_id from edition")) == 1
    await store.stop()
    wait_for_lock(serving / "replica_b.duckdb")


@pytest.mark.requirement("edition:query-limit")
async def test_a_query_without_end_does_not_keep_a_store_from_stopping(tmp_path: Path) -> None:
    publish(tmp_path / "serving", 1)
    store = Store(tmp_path / "serving", lambda: None, query_limit_s=1)
    await store.start()
    with store.current() as edition:
        query = "select count(*) from range(100000000000) where range % 7 = 3"
        asked = asyncio.ensure_future(store.execute(edition, lambda db: db.value(query)))
        await asyncio.sleep(0)  # it is with the worker threads before the store is stopped
        await store.stop()
    with pytest.raises(Unavailable, match="longer than"):
        await asked


@pytest.mark.requirement("edition:busy")
async def test_more_than_can_be_answered_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait are answered once there is a thread; the one too many is refused now, the next one taken."""
    monkeypatch.setattr("serve.replica.store.QUEUE", 3)
    publish(tmp_path / "serving", 1)
    store, go_on = Store(tmp_path / "serving", lambda: None), threading.Event()
    await store.start()
    with store.current() as edition:
        held = [asyncio.ensure_future(store.execute(edition, lambda _: go_on.wait(20))) for _ in range(WORKERS + 3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="3 queries wait already"):
            await store.execute(edition, lambda _: True)
        go_on.set()
        assert await asyncio.gather(*held) == [True] * (WORKERS + 3)
        assert await store.execute(edition, lambda _: True)
    await store.stop()


@pytest.mark.requirement("edition:busy", "edition:query-limit")
async def test_the_limit_of_a_query_begins_when_it_is_asked(tmp_path: Path) -> None:
    publish(tmp_path / "serving", 1)
    store, go_on = Store(tmp_path / "serving", lambda: None, query_limit_s=0.1), threading.Event()
    await store.start()
    with store.current() as edition:
        held = [asyncio.ensure_future(store.execute(edition, lambda _: go_on.wait(20))) for _ in range(WORKERS)]
        begun: list[bool] = []
        late = asyncio.ensure_future(store.execute(edition, lambda _: begun.append(True)))
        await asyncio.sleep(0.3)  # The time that it waits for a thread is what is tried.
        go_on.set()
        with pytest.raises(Busy, match=r"no answer was begun within 0\.1 s"):
            await late
        assert await asyncio.gather(*held) == [True] * WORKERS
    assert begun == []
    await store.stop()


@pytest.mark.requirement("http:unwanted", "edition:released")
async def test_a_query_that_nobody_waits_for_is_ended_and_one_that_waits_is_not_begun(tmp_path: Path) -> None:
    publish(tmp_path / "serving", 1)
    store, running_now = Store(tmp_path / "serving", lambda: None, query_limit_s=600), threading.Semaphore(0)

    def run_for_ever(db: Reader) -> object:
        running_now.release()
        return db.value("select count(*) from range(100000000000) where range % 7 = 3")

    await store.start()
    with store.current() as edition:
        held = [asyncio.ensure_future(store.execute(edition, run_for_ever)) for _ in range(WORKERS)]
        begun: list[bool] = []
        waiting = asyncio.ensure_future(store.execute(edition, lambda _: begun.append(True)))
        for _ in held:
            await asyncio.to_thread(running_now.acquire)
        waiting.cancel()
        for task in held:
            task.cancel()
        await asyncio.gather(waiting, *held, return_exceptions=True)
        assert await store.execute(edition, lambda db: db.value("select edition_id from edition")) == 1
    assert begun == []
    await store.stop()
    wait_for_lock(tmp_path / "serving" / "replica_b.duckdb")


@pytest.mark.requirement("edition:recovers")
async def test_an_edition_stays_while_no_more_files_may_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serve.replica.store.GRACE_S", 0.0)
    publish(tmp_path / "serving", 1)
    changes: list[int | None] = []
    second = asyncio.Event()

    def on_change() -> None:
        changes.append(store.edition.edition_id if store.edition else None)
        if changes[-1] == 2:
            second.set()

    store = Store(tmp_path / "serving", on_change)
    await store.start()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    publish(tmp_path / "serving", 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        for _ in range(3):
            await store._follow()
        assert changes == [1]
        with store.current() as edition:
            assert await store.execute(edition, lambda db: db.value("select edition_id from edition")) == 1
            with pytest.raises(Busy, match="too many files"):
                await store.execute(edition, lambda _: (tmp_path / "serving" / "current.json").read_bytes())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    await second.wait()
    assert changes == [1, 2]
    await store.stop()


@pytest.mark.requirement("edition:recovers")
def test_a_replica_without_a_table(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    path = publish(serving, 1)
    with duckdb.connect(str(path)) as writer:
        writer.execute("drop table gaps")
        writer.execute("drop table markets")
    with running(serving, free_port()) as api:
        assert degraded(api)["error"] == "unavailable"
        assert api.get("/api/markets").status == 503
        assert api.get("/api/status").status == 200
        publish(serving, 2)
        until(lambda: degraded(api), lambda got: "db" not in got)


@pytest.mark.requirement("series:known", "edition:released")
async def test_what_a_request_makes_on_its_cursor_no_other_request_finds(tmp_path: Path) -> None:
    """Requests have each other's cursors, but not those on which something was made or that have failed."""
    publish(tmp_path / "serving", 1)
    store = Store(tmp_path / "serving", lambda: None)
    await store.start()

    def make(db: Reader) -> duckdb.DuckDBPyConnection:
        db.altered().execute("set variable asked_base = 'BTC'; create temp view shown as select 1")
        return db.cursor

    def find(db: Reader) -> tuple[duckdb.DuckDBPyConnection, object]:
        named = "select getvariable('asked_base'), (select count(*) from duckdb_views() where view_name = 'shown')"
        return db.cursor, db.cursor.execute(named).fetchall()

    def fail(db: Reader) -> None:
        assert db.cursor is first
        raise ValueError("in vain")

    with store.current() as edition:
        made = await store.execute(edition, make)
        first, found = await store.execute(edition, find)
        assert (found, first is not made) == ([(None, 0)], True)
        with pytest.raises(ValueError, match="in vain"):
            await store.execute(edition, fail)
        second, found = await store.execute(edition, find)
        assert (found, second is not first) == ([(None, 0)], True)
        assert await store.execute(edition, find) == (second, [(None, 0)])
    await store.stop()
    wait_for_lock(tmp_path / "serving" / "replica_b.duckdb")
