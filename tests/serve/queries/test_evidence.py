"""Responses found in a landing of two files and read by staging views, as an edition has their SQL."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from serve.queries.evidence import MOST_BODY_BYTES, Wanted, find_responses
from serve.replica.edition import Reader, open_edition
from serve.replica.units import Span
from tests.support.replica.replica import build_replica

MINUTE = 60_000
AT = 1_781_520_000_000
MINUTES = Span(AT, AT + MINUTE)
VIEW = """
with recorded as (
    select tick_ms, endpoint, key, requested_ms, received_ms,
        unnest(from_json(body, '[{{"symbol":"VARCHAR","openInterest":"VARCHAR"}}]')) as r
    from "warehouse"."main"."raw_window" where venue = '{venue}' and endpoint = '{endpoint}'
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    r.openinterest::double as open_interest,
    null as reject
from {source}
"""
BARS = """
select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    (r ->> 0)::bigint as opened_ms,
    (r ->> 4)::double as close,
    null as reject
from (
    select *, unnest(body::json[]) as r from "warehouse"."main"."raw_window"
    where venue = 'bybit' and endpoint in ('perp_bars', 'history_perp_bars')
)
"""
HOUR = 60 * MINUTE
LARGE = json.dumps([{"symbol": f"COIN{number}", "openInterest": "1.5"} for number in range(2000)])
FETCHED = json.dumps([[AT - (hour + 1) * HOUR, "1", "3", "0.5", str(hour)] for hour in range(50)])
ROWS = [
    # minute, endpoint, key, requested, body
    (AT, "open_interest", "BTCUSDT", AT + 1, '[{"symbol":"BTCUSDT","openInterest":"7.25"}]'),
    (AT, "open_interest", "ETHUSDT", AT + 2, '[{"symbol":"ETHUSDT","openInterest":"9"}]'),
    (AT, "perp_tickers", "", AT + 3, LARGE),
    (AT, "history_perp_bars", "BTCUSDT", AT + 4, FETCHED),
    (AT + MINUTE, "open_interest", "BTCUSDT", AT + MINUTE, '[{"symbol":"BTCUSDT","openInterest":"8"}]'),
    # By another recorder.
    (AT + MINUTE, "open_interest", "BTCUSDT", AT + MINUTE + 9, '[{"symbol":"BTCUSDT","openInterest":"8.5"}]'),
]


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("landing")
    (folder / "responses" / "2026-06-15").mkdir(parents=True)
    columns = "tick_ms, venue, endpoint, key, params, status, requested_ms, received_ms, attempts, error, body"
    with duckdb.connect() as con:
        con.execute(
            "create table rows (tick_ms bigint, endpoint text, key text, requested_ms bigint, body text); "
            "create view landed as select *, 'bybit' as venue, '{}' as params, 200::bigint as status, "
            "requested_ms + 5 as received_ms, 1::bigint as attempts, null::text as error from rows"
        )
        con.executemany("insert into rows values (?, ?, ?, ?, ?)", ROWS)
        for load, at in (("10.5", AT), ("20.5", AT + MINUTE)):
            file = folder / "responses" / "2026-06-15" / f"{load}.x.parquet"
            con.execute(f"copy (select {columns} from landed where tick_ms = {at}) to '{file}' (format parquet)")
    return folder


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replica") / "replica_a.duckdb"
    build_replica(path, 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from landed_files; delete from methodology_models; delete from methodology_sql")
        for load, at in (("10.5", AT), ("20.5", AT + MINUTE)):
            row = [load, f"2026-06-15/{load}.x.parquet", at, at]
            con.execute("insert into landed_files values (?, ?, ?, ?)", row)
        for endpoint in ("open_interest", "perp_tickers", "marks", "settlements"):
            model = f"stg_bybit__{endpoint}"
            values = [model, "staging", "", ["raw_window"], "bybit", [endpoint], [], "{}", None]
            con.execute("insert into methodology_models values (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            source = "recorded" if endpoint != "marks" else '"warehouse"."main"."a_seed"'
            sql = VIEW.format(venue="bybit", endpoint=endpoint, source=source)
            if endpoint != "settlements":
                con.execute("insert into methodology_sql values (?, ?)", [model, sql])
        values = ["stg_bybit__perp_bars", "staging", "", ["raw_window"], "bybit", ["perp_bars"], [], "{}", None]
        con.execute("insert into methodology_models values (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        con.execute("insert into methodology_sql values ('stg_bybit__perp_bars', ?)", [BARS])
        # Hours that the edition of AT + MINUTE was the first to have.
        con.execute(
            "insert into series_market_1h by name select 'bybit:perp:BTCUSDT' as market_id, unnest([$1, $2]) as t, "
            "$3 as known_ms, 'backfilled' as source",
            [AT - 20 * HOUR, AT - 90 * HOUR, AT + MINUTE],
        )
    return path


@pytest.fixture(scope="module")
def make_reader(replica: Path) -> Iterator[Any]:
    edition = open_edition(replica)
    yield lambda landing: Reader(edition, edition.connection.cursor(), landing)
    edition.connection.close()


def wanted(symbol: str, *endpoints: str, span: Span = MINUTES) -> Wanted:
    return Wanted("bybit", "perp", symbol, span, endpoints)


@pytest.mark.requirement("explain:evidence")
def test_a_value_leads_to_its_response_its_row_and_its_body(make_reader: Any, landing: Path) -> None:
    found = find_responses(make_reader(landing), wanted("BTCUSDT", "open_interest", "perp_tickers"), True)
    assert found.reason is None
    [response] = found.responses
    assert {name: response[name] for name in ("load", "file", "key", "tick_ms", "requested_ms", "status")} == {
        "load": "10.5", "file": "responses/2026-06-15/10.5.x.parquet", "key": "BTCUSDT", "tick_ms": AT,
        "requested_ms": AT + 1, "status": 200,
    }  # fmt: skip
    assert response["body"] == ROWS[0][4]
    assert response["rows"] == [
        {
            "view": "stg_bybit__open_interest",
            "row": {"symbol": "BTCUSDT", "openInterest": "7.25"},
            "columns": {"symbol": "BTCUSDT", "open_interest": 7.25, "reject": None},
        }
    ]
    assert find_responses(make_reader(landing), wanted("BTCUSDT", "open_interest"), False).responses[0]["body"] is None


@pytest.mark.requirement("explain:evidence")
def test_of_two_recorders_the_response_that_was_built_is_found(make_reader: Any, landing: Path) -> None:
    of = wanted("BTCUSDT", "open_interest", span=Span(AT + MINUTE, AT + 2 * MINUTE))
    [response] = find_responses(make_reader(landing), of, True).responses
    assert [row["columns"]["open_interest"] for row in response["rows"]] == [8.0]


@pytest.mark.requirement("explain:evidence")
def test_an_hour_of_history_leads_to_the_response_that_brought_it(make_reader: Any, landing: Path) -> None:
    # A recorded price is of a ticker, one of the past of a bar.
    of = wanted("BTCUSDT", "perp_tickers", span=Span(AT - 20 * HOUR, AT - 19 * HOUR))
    found = find_responses(make_reader(landing), of, True)
    assert found.reason is None
    [response] = found.responses
    assert (response["endpoint"], response["tick_ms"], response["body"]) == ("history_perp_bars", AT, FETCHED)
    assert [row["columns"]["close"] for row in response["rows"]] == [19.0]
    # The response that the same edition was the first to have does not reach back so far.
    of = wanted("BTCUSDT", "perp_bars", span=Span(AT - 90 * HOUR, AT - 89 * HOUR))
    assert f"fetched with perp_bars in the minutes before {AT + MINUTE}" in str(
        find_responses(make_reader(landing), of, True).reason
    )
    assert [one["load"] for one in find_responses(make_reader(None), of, True).responses] == ["10.5", "20.5"]


@pytest.mark.requirement("explain:evidence")
def test_a_large_body_is_described_with_a_command_that_prints_it(make_reader: Any, landing: Path) -> None:
    [response] = find_responses(make_reader(landing), wanted("COIN5", "perp_tickers"), True).responses
    assert response["body"] is None
    assert response["body_bytes"] == len(LARGE) > MOST_BODY_BYTES
    assert [row["row"]["symbol"] for row in response["rows"]] == ["COIN5"]
    command = response["read_with"]
    assert command.startswith("duckdb ")
    assert "responses/2026-06-15/10.5.x.parquet" in command
    assert f"requested_ms = {AT + 3}" in command


@pytest.mark.requirement("explain:landing")
def test_what_is_missing_has_its_reason(make_reader: Any, landing: Path, tmp_path: Path) -> None:
    def reason(of: Wanted, where: Path | None = landing) -> str:
        found = find_responses(make_reader(where), of, True)
        assert found.reason
        return found.reason

    assert "nothing of NONE was recorded under open_interest" in reason(wanted("NONE", "open_interest"))
    later = wanted("BTCUSDT", "open_interest", span=Span(AT + 90 * MINUTE, AT + 91 * MINUTE))
    assert "nothing of BTCUSDT was recorded" in reason(later)
    assert "bybit has no view of liquidations" in reason(wanted("BTCUSDT", "liquidations"))
    assert "lacks the SQL of stg_bybit__settlements" in reason(wanted("BTCUSDT", "settlements"))
    # The view reads a table that no edition has.
    assert "nothing of BTCUSDT was recorded under marks" in reason(wanted("BTCUSDT", "marks"))
    assert "lacks 10.5.x.parquet" in reason(wanted("BTCUSDT", "open_interest"), tmp_path)
    assert "does not read the landing" in reason(wanted("BTCUSDT", "open_interest"), None)


@pytest.mark.requirement("explain:landing")
def test_without_the_landing_the_loads_of_the_minute_are_named(make_reader: Any) -> None:
    found = find_responses(make_reader(None), wanted("BTCUSDT", "open_interest", "perp_tickers"), True)
    assert {(one["load"], one["endpoint"]) for one in found.responses} == {
        ("10.5", "open_interest"), ("10.5", "perp_tickers"),
    }  # fmt: skip
    assert all(one["rows"] == [] and one["body"] is None for one in found.responses)


@pytest.mark.requirement("explain:landing")
def test_the_reader_of_the_landing_opens_no_other_file(make_reader: Any, landing: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    con = make_reader(landing).open_folder(landing)
    with pytest.raises(duckdb.PermissionException):
        con.execute(f"from read_csv('{secret}')")
    with pytest.raises(duckdb.Error):
        con.execute("set enable_external_access = true")
