"""GET /api/bulk and its files: what is listed is served, in ranges, to the readers that analysts use."""

import hashlib
import http.client
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from orchestration.config.settings import Settings
from serve.http.limits import BUDGETS
from tests.support.replica.bulk_files import EDITION, bulk_home, write_again
from tests.support.replica.replica import AS_OF_MS, DAY
from tests.support.servers.api_server import Api, free_port, running, until
from tests.support.servers.budgets import budget
from tests.support.servers.described import as_described

TABLES = ("series_base_1h", "series_base_1d", "series_market_5m")
PATH = "/api/bulk"
TODAY = AS_OF_MS // DAY * DAY


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with bulk files of the four last days."""
    return bulk_home(tmp_path_factory.mktemp("bulk"), 3, TABLES)


@pytest.fixture(scope="module")
def api(settings: Settings) -> Iterator[Api]:
    """A server of that home."""
    with running(settings.serving, free_port(), bulk=settings.bulk) as served:
        yield served


def listed(api: Api, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = api.get(f"{PATH}?{query}").json["rows"]
    return rows


@pytest.mark.requirement("bulk:manifest")
def test_the_manifest_lists_each_file_with_what_is_in_it(api: Api) -> None:
    got = as_described(api, PATH)
    assert (got["state"], got["source"], got["next"], got["missing"]) == ("ok", f"bulk@e{EDITION}", None, [])
    assert [(row["table"], row["day"]) for row in got["rows"]] == [
        ("series_base_1d", "2026-06-01"),
        *(("series_base_1h", f"2026-06-{day}") for day in (12, 13, 14)),
        *(("series_market_5m", f"2026-06-{day}") for day in (12, 13, 14)),
    ]
    by_month, *by_day = got["rows"]
    assert (by_month["start"], by_month["end"]) == (TODAY - 14 * DAY, TODAY)
    assert {row["end"] - row["start"] for row in by_day} == {DAY}
    for row in got["rows"]:
        body = api.get(row["path"]).body
        assert (len(body), hashlib.sha256(body).hexdigest()) == (row["bytes"], row["sha256"])
        assert pq.read_table(io.BytesIO(body)).num_rows == row["rows"]
    # The recording began at 12:34:56 of the first day.
    assert [row["minutes_missing"] for row in by_day] == [12 * 60 + 35, 0, 0] * 2
    table = next(table for table in got["tables"] if table["table"] == "series_market_5m")
    assert table["step"] == "5m"
    assert {"name": "t", "type": "bigint"}.items() <= table["columns"][0].items()


@pytest.mark.requirement("bulk:filters")
def test_files_are_selected_by_table_and_days(api: Api) -> None:
    assert {row["table"] for row in listed(api, "table=series_base_1h")} == {"series_base_1h"}
    some = listed(api, "table=series_base_1h&from=2026-06-13&to=2026-06-13")
    assert [row["day"] for row in some] == ["2026-06-13"]
    assert [row["table"] for row in listed(api, "to=2026-06-11")] == ["series_base_1d"]
    nothing = api.get(f"{PATH}?from=2027-01-01").json
    assert (nothing["state"], nothing["rows"]) == ("empty", [])
    first = listed(api)[0]["path"]
    assert listed(api, f"after={first}") == listed(api)[1:]
    wrong = api.get(f"{PATH}?table=series_base_1w")
    assert (wrong.status, "series_base_1h" in wrong.error) == (400, True)
    for day in ("today", "2026-02-30", "20260613"):
        assert api.get(f"{PATH}?from={day}").status == 400
    frame = pd.read_csv(io.BytesIO(api.get(f"{PATH}?format=csv").body), comment="#")
    assert list(frame["path"]) == [row["path"] for row in listed(api)]


@pytest.mark.requirement("bulk:gaps")
def test_days_without_a_file_are_listed(settings: Settings, tmp_path: Path) -> None:
    bulk = tmp_path / "bulk"
    shutil.copytree(settings.bulk, bulk)
    said = json.loads((bulk / "manifest.json").read_text())
    said["files"] = [file for file in said["files"] if file["partition"] != "day=2026-06-13"]
    (bulk / "manifest.json").write_text(json.dumps(said))
    with running(settings.serving, free_port(), bulk=bulk) as api:
        got = as_described(api, f"{PATH}", f"{PATH}?table=series_base_1h")
        assert got["missing"] == [{"table": "series_base_1h", "start": TODAY - 2 * DAY, "end": TODAY - DAY}]


@pytest.mark.requirement("bulk:ranges")
def test_a_file_is_sent_whole_or_in_ranges(api: Api) -> None:
    row = listed(api, "table=series_market_5m")[1]
    path, etag = row["path"], f'"{row["sha256"]}"'
    whole = api.get(path, Accept_Encoding="gzip, br, zstd")
    assert whole.status == 200
    assert "content-encoding" not in whole.headers
    assert whole.headers["etag"] == etag
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["content-type"] == "application/vnd.apache.parquet"
    assert whole.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert int(whole.headers["content-length"]) == len(whole.body) == row["bytes"]
    head = api.get(path, method="HEAD")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(row["bytes"]))
    assert head.headers["etag"] == etag
    tail = api.get(path, Range="bytes=-8")
    assert (tail.status, tail.body) == (206, whole.body[-8:])
    assert tail.headers["content-range"] == f"bytes {row['bytes'] - 8}-{row['bytes'] - 1}/{row['bytes']}"
    part = api.get(path, Range="bytes=100-299", If_Range=etag)
    assert (part.status, part.body) == (206, whole.body[100:300])
    # A range of another version: the client gets this one whole, never a mix.
    other = api.get(path, Range="bytes=100-299", If_Range='"0"')
    assert (other.status, other.body) == (200, whole.body)
    beyond = api.get(path, Range=f"bytes={row['bytes']}-")
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{row['bytes']}")
    assert str(row["bytes"]) in beyond.error
    assert budget(tail)[0] == BUDGETS["bulk"].limit
    same = api.get(path, If_None_Match=etag)
    assert (same.status, same.body, same.headers["etag"]) == (304, b"", etag)


@pytest.mark.requirement("bulk:ranges")
def test_a_connection_serves_one_range_after_the_other(api: Api) -> None:
    row = listed(api, "table=series_base_1d")[0]
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=30)
    parts = []
    for first in range(0, row["bytes"], 1000):
        connection.request("GET", row["path"], headers={"Range": f"bytes={first}-{first + 999}"})
        response = connection.getresponse()
        assert response.status == 206
        parts.append(response.read())
    connection.close()
    assert hashlib.sha256(b"".join(parts)).hexdigest() == row["sha256"]


@pytest.mark.requirement("bulk:inside")
@pytest.mark.parametrize(
    "path",
    [
        "series_base_1h/day=2026-06-13/series_base_1h.parquet",
        "series_base_1h/day=2026-06-13/../../manifest.json",
        "..%2F..%2Fserving/day=1/current.json",
        "%2e%2e/%2e%2e/keys.json",
        "series_base_1h/..%2F..%2Fmanifest.json/x",
        f"series_base_1h/day=..%2Fday=2026-06-13/{'0' * 64}.parquet",
        f"series_base_1h/day=2026-06-13/{'0' * 64}.parquet",
        f"series_base_1h/day=2026-06-13/{'0' * 64}.parquet%00",
        "%2Fetc/passwd/x",
    ],
)
def test_only_files_of_the_folder_are_served(api: Api, path: str) -> None:
    answer = api.get(f"{PATH}/{path}")
    assert answer.status in (400, 404)
    assert answer.error


@pytest.mark.requirement("bulk:readers")
def test_pandas_and_pyarrow_read_what_the_edition_has(api: Api, settings: Settings) -> None:
    [row] = listed(api, "table=series_base_1h&from=2026-06-13&to=2026-06-13")
    frame = pd.read_parquet(f"http://127.0.0.1:{api.port}{row['path']}")
    [replica] = settings.serving.glob("*.duckdb")
    with duckdb.connect(str(replica), read_only=True) as con:
        expected = con.execute(
            "select * exclude (base_key) from series_base_1h where t >= ? and t < ? order by base, type, t",
            [row["start"], row["end"]],
        ).df()
    pd.testing.assert_frame_equal(frame.astype(expected.dtypes.to_dict()), expected)


@pytest.mark.requirement("bulk:readers")
def test_polars_reads_the_folder_and_a_server(api: Api, settings: Settings) -> None:
    """Days as a column, and of a server's files only the columns and rows that are asked for."""
    [replica] = settings.serving.glob("*.duckdb")
    with duckdb.connect(str(replica), read_only=True) as con:
        expected = con.execute(
            "select make_timestamp_ms(t)::date as day, count(*)::int, sum(volume_usd) from series_market_5m "
            f"where base = 'ETH' and t < {TODAY} group by all order by all"
        ).fetchall()
    folder = settings.bulk / "series_market_5m"
    files = [f"http://127.0.0.1:{api.port}{row['path']}" for row in listed(api, "table=series_market_5m")]
    for source in (folder, files):
        rows = pl.scan_parquet(source, hive_partitioning=True).filter(pl.col("base") == "ETH")
        found = rows.group_by("day").agg(pl.len(), pl.col("volume_usd").sum()).sort("day").collect().rows()
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        assert [row[2] for row in found] == pytest.approx([row[2] for row in expected])


@pytest.mark.requirement("bulk:readers")
def test_duckdb_reads_the_files_over_http(api: Api, settings: Settings) -> None:
    extension = pytest.importorskip("duckdb_extension_httpfs")
    [replica] = settings.serving.glob("*.duckdb")
    server = f"http://127.0.0.1:{api.port}"
    with duckdb.connect(config={"extension_directory": str(Path(settings.home, "extensions"))}) as con:
        extension_of(con, extension)
        files = [server + row["path"] for row in listed(api, "table=series_market_5m")]
        found = con.execute(
            f"select day, base, count(*), sum(volume_usd) from read_parquet({files}, hive_partitioning = true) "
            "where base = 'ETH' group by all order by all"
        ).fetchall()
        con.execute(f"attach '{replica}' as edition (read_only)")
        expected = con.execute(
            "select make_timestamp_ms(t)::date, base, count(*), sum(volume_usd) from edition.series_market_5m "
            f"where base = 'ETH' and t < {TODAY} group by all order by all"
        ).fetchall()
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected])


def extension_of(con: duckdb.DuckDBPyConnection, extension: Any) -> None:
    """Load httpfs from the package, without DuckDB's own download server."""
    [file] = Path(extension.__file__).parent.rglob("httpfs.duckdb_extension")
    con.execute(f"load '{file}'")


@pytest.mark.requirement("bulk:restated")
def test_a_reader_of_a_replaced_version_goes_on_and_the_manifest_has_the_new_one(tmp_path: Path) -> None:
    settings = bulk_home(tmp_path, 3, TABLES)
    with running(settings.serving, free_port(), bulk=settings.bulk) as api:
        query = "table=series_base_1h&from=2026-06-13&to=2026-06-13"
        [old] = listed(api, query)
        begun = api.get(old["path"], Range="bytes=0-99").body
        fresh = tmp_path / "fresh.duckdb"
        [replica] = settings.serving.glob("*.duckdb")
        shutil.copyfile(replica, fresh)
        with duckdb.connect(str(fresh)) as con:
            con.execute(f"update series_base_1h set price = 7 where t between {old['start']} and {old['end'] - 1}")
            con.execute("update publish_state set build_id = 2")
        fresh.replace(replica)
        assert write_again(settings, TABLES).files == 1
        asked = until(lambda: api.get(f"{PATH}?{query}"), lambda got: got.status == 200 and got.json["rows"] != [old])
        [new] = asked.json["rows"]
        assert new["sha256"] != old["sha256"]
        rest = api.get(old["path"], Range="bytes=100-").body
        assert hashlib.sha256(begun + rest).hexdigest() == old["sha256"]
        assert api.get(new["path"]).headers["etag"] == f'"{new["sha256"]}"'


@pytest.mark.requirement("bulk:manifest")
def test_without_files_the_manifest_is_empty_and_files_need_no_edition(settings: Settings, tmp_path: Path) -> None:
    with running(settings.serving, free_port(), bulk=tmp_path / "none") as api:
        got = as_described(api, PATH)
        assert (got["state"], got["rows"], got["tables"]) == ("empty", [], [])
    (tmp_path / "serving").mkdir()
    with running(tmp_path / "serving", free_port(), bulk=settings.bulk) as api:
        assert api.get(PATH).status == 503
        file = next(settings.bulk.glob(".versions/*/*/*.parquet"))
        answer = api.get(f"{PATH}/{file.relative_to(settings.bulk / '.versions')}")
        assert (answer.status, answer.body) == (200, file.read_bytes())
