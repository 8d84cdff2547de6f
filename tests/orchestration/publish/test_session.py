"""SQL beside the server: rows in each form, new editions between two texts, and nothing that stops a publish."""

import io
import json
from pathlib import Path
from typing import Literal

import duckdb
import pytest

from orchestration.publish.edition import NothingPublishedError
from orchestration.publish.session import Session, TooLongError, copied
from orchestration.warehouse.writer import connection
from tests.support.replica.replica import publish

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where a.range + b.range = -1"


@pytest.fixture
def serving(tmp_path: Path) -> Path:
    """A folder with edition 1."""
    publish(tmp_path / "serving", 1)
    return tmp_path / "serving"


def ran(session: Session, text: str, form: Literal["table", "csv", "json"] = "csv") -> str:
    out = io.StringIO()
    session.run(text, out, form)
    return out.getvalue()


def writable(serving: Path) -> None:
    """A publish could write each replica now."""
    for replica in serving.glob("*.duckdb"):
        with connection(str(replica), wait_s=0) as con:
            con.execute("checkpoint")


def test_rows_are_written_in_each_form(serving: Path) -> None:
    session = Session(serving)
    text = "select 'BTC' as base, null::double as price, 'nan'::double as n, timestamptz '2026-03-04 00:00:00+00' as at"
    assert ran(session, text) == "base,price,n,at\nBTC,,nan,2026-03-04 00:00:00+00:00\n"
    assert json.loads(ran(session, text, "json")) == {
        "base": "BTC", "price": None, "n": None, "at": "2026-03-04T00:00:00+00:00",
    }  # fmt: skip
    assert "│ BTC" in ran(session, text, "table")
    assert "2026-03-04 00:00:00+00" in ran(session, text, "table")
    many = ran(session, "from range(25000)")
    assert many.splitlines() == ["range", *map(str, range(25_000))]
    assert "market_index" in ran(session, "show tables")
    assert ran(session, "select 1; select 2 as b") == "1\n1\nb\n2\n"


def test_each_text_sees_the_newest_edition_and_its_own_tables(serving: Path) -> None:
    session = Session(serving)
    assert ran(session, "select edition_id from edition.edition") == "edition_id\n1\n"
    assert ran(session, "create table mine as select edition_id as was from edition.edition") == ""
    publish(serving, 2)
    assert ran(session, "select edition_id, was from edition.edition, mine") == "edition_id,was\n2,1\n"


def test_an_edition_is_only_read_and_what_fails_is_said(serving: Path) -> None:
    session = Session(serving)
    with pytest.raises(duckdb.Error, match="read-only"):
        ran(session, "delete from edition.main.market_index")
    with pytest.raises(duckdb.Error, match="nowhere"):
        ran(session, "from nowhere")
    with pytest.raises(duckdb.Error, match="syntax error"):
        ran(session, "selct 1")
    assert ran(session, "select 1 as a") == "a\n1\n"


def test_nothing_is_held_between_two_texts(serving: Path) -> None:
    session = Session(serving)
    for text in ("select count(*) from market_index", "begin; from market_index limit 1", "begin"):
        ran(session, text)
        writable(serving)
    with pytest.raises(duckdb.Error):
        ran(session, "begin; from nowhere")
    writable(serving)


def test_a_text_that_takes_too_long_is_interrupted_and_a_copy_is_not_in_the_way(serving: Path, tmp_path: Path) -> None:
    session = Session(serving, seconds=0.3)
    for form in ("table", "csv"):
        with pytest.raises(TooLongError, match=r"interrupted after 0.3 s, .* --copy"):
            ran(session, ENDLESS, form)
        writable(serving)
    (tmp_path / "copy").mkdir()
    beside = Session(copied(serving, tmp_path / "copy"))
    out = io.StringIO()
    # The statement writes one of the replicas that a publish would: its file is free.
    beside.run("select edition_id from edition.edition", out, "csv")
    assert out.getvalue() == "edition_id\n1\n"
    publish(serving, 2)
    assert ran(beside, "select edition_id from edition.edition") == "edition_id\n1\n"


def test_before_the_first_edition_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(NothingPublishedError, match="nothing has been published in"):
        ran(Session(tmp_path), "select 1")
