"""The raw responses behind a value of one market: found in the landing, and interpreted by the SQL of the edition."""

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import orjson

from serve.replica.edition import Reader, literal
from serve.replica.units import UNIT_MS, Span

FOLDER = "responses"
# Bars of quiet markets are requested once an hour, as are the ratios of most markets.
LATER_MS = (5 * UNIT_MS["m"], 75 * UNIT_MS["m"])
MOST_RESPONSES, MOST_ROWS = 10, 20
# A larger body is described and not sent.
MOST_BODY_BYTES = 65_536
# Files that one search reads: those of an hour and a quarter, one a minute, and as many that a backfill landed.
MOST_FILES = 150
# The column of a staging view that says to which time a row belongs; without it that is the response's minute.
TIMES = ("opened_ms", "ts", "t")
RAW = re.compile(r'"[^"]+"\."main"\."(\w+)"')
UNNAMED = r"\1"
RECEIVED = ("tick_ms", "endpoint", "key", "requested_ms", "received_ms")
FINAL_SELECT = "\nselect\n    tick_ms,"
FILES = """
select load_id, file from landed_files where first_ms < $until and last_ms >= $since
order by first_ms, load_id limit $most
"""
# The kinds of the past that stand for what is recorded now.
FETCHED_AS = {
    "perp_tickers": ("perp_bars",),
    "spot_tickers": ("spot_bars",),
    "open_interest": ("open_interest_history",),
    "funding": ("settlements",),
}
# When the market's fetched hours of the span came in: the as_of of the first edition that had them.
FETCHED = """
select max(known_ms) from series_market_1h
where market_id = $market and t < $until and t + 3600000 > $since and source = 'backfilled'
"""
VIEWS = """
select model, endpoints, sql from methodology_models left join methodology_sql using (model)
where venue = $venue and list_has_any(list_append(endpoints, split_part(model, '__', 2)), $endpoints)
order by model
"""
# Of a request that two recorders made in a minute, the response that the build read (the model raw_window).
RESPONSES = """
create table landed as
select tick_ms, venue, endpoint, coalesce(key, '') as key, coalesce(params, '') as params, status::integer as status,
    requested_ms, received_ms, attempts::integer as attempts, error, body, filename
from read_parquet([{files}], union_by_name = true, filename = true)
where tick_ms >= $since and tick_ms < $until and venue = $venue and list_contains($endpoints, endpoint)
    and (key = $symbol or not list_contains($keyed, endpoint))
qualify row_number() over (
    partition by tick_ms, venue, endpoint, key, params,
        if(status = 101 or starts_with(endpoint, 'history_') or ends_with(endpoint, '_history'), requested_ms, null)
    order by coalesce(status between 200 and 299 and error is null and body is not null, false) desc,
        status is not null desc, requested_ms, received_ms desc nulls last) = 1
"""


class Wanted(NamedTuple):
    """The value to find: of this market and time, from these recorded endpoints."""

    venue: str
    type: str
    symbol: str
    span: Span
    endpoints: tuple[str, ...]


class Found(NamedTuple):
    """Responses, the oldest first, and why there are none or their bodies are missing."""

    responses: list[dict[str, Any]]
    reason: str | None


class View(NamedTuple):
    """A staging view of the edition."""

    model: str
    endpoints: list[str]
    sql: str | None


def find_responses(db: Reader, wanted: Wanted, bodies: bool) -> Found:
    """The responses that the value came from, with the rows that the edition's staging views read from them."""
    market = f"{wanted.venue}:{wanted.type}:{wanted.symbol}"
    fetched = db.value(FETCHED, {"market": market, "since": wanted.span.start, "until": wanted.span.end})
    if fetched is not None:
        past = [kind for endpoint in wanted.endpoints for kind in FETCHED_AS.get(endpoint, ())]
        wanted = wanted._replace(endpoints=(*wanted.endpoints, *past))
    views = [
        View(**row)
        for row in db.rows(VIEWS, {"venue": wanted.venue, "endpoints": list(wanted.endpoints)})
        if not row["model"].partition("__")[2].startswith("spot" if wanted.type == "perp" else "perp")
    ]
    endpoints = sorted({name for view in views for name in view.endpoints})
    if not endpoints:
        return Found([], f"{wanted.venue} has no view of {', '.join(wanted.endpoints)} in this edition")
    if unknown := [view.model for view in views if view.sql is None]:
        return Found([], f"this edition lacks the SQL of {', '.join(unknown)}, which dbt has not run here")
    names = f"recorded under {', '.join(endpoints)} in the minutes from {wanted.span.start} to {wanted.span.end}"
    spans = [Span(wanted.span.start, wanted.span.end + later_ms) for later_ms in LATER_MS]
    loads_of = Span(wanted.span.start, wanted.span.start + UNIT_MS["m"])
    if fetched is not None:
        spans = [Span(fetched - earlier_ms, fetched + 1) for earlier_ms in LATER_MS]
        loads_of = spans[0]
        names = f"fetched with {', '.join(endpoints)} in the minutes before {fetched}"
    if db.landing is None:
        loads = _loads(db, wanted, endpoints, loads_of)
        return Found(loads, f"this server does not read the landing; the responses are {names}")
    for span in spans:
        files = _files(db, span)
        here = {db.landing / FOLDER / file: load for file, load in files.items()}
        missing = [str(path.name) for path in here if not path.is_file()]
        if missing:
            return Found(
                _loads(db, wanted, endpoints, loads_of),
                f"the landing of this server lacks {', '.join(missing[:3])}; the responses are {names}",
            )
        found = _search(db, db.landing, here, views, wanted, span, bodies) if here else []
        if found:
            return Found(found, None)
    return Found([], f"no response has it: nothing of {wanted.symbol} was {names}")


def _files(db: Reader, span: Span) -> dict[str, str]:
    rows = db.rows(FILES, {"since": span.start, "until": span.end, "most": MOST_FILES})
    return {row["file"]: row["load_id"] for row in rows}


def _loads(db: Reader, wanted: Wanted, endpoints: list[str], span: Span) -> list[dict[str, Any]]:
    """What is known of the responses without the landing: in which loads they are."""
    return [
        _response({"venue": wanted.venue, "endpoint": endpoint, "tick_ms": span.start}, load, file)
        for file, load in _files(db, span).items()
        for endpoint in endpoints
    ]


def _search(
    db: Reader,
    landing: Path,
    files: Mapping[Path, str],
    views: Iterable[View],
    wanted: Wanted,
    span: Span,
    bodies: bool,
) -> list[dict[str, Any]]:
    con = db.open_folder(landing)
    listed = ", ".join(literal(str(path)) for path in files)
    read = RESPONSES.format(files=listed)
    given = {
        "since": span.start,
        "until": span.end,
        "venue": wanted.venue,
        "symbol": wanted.symbol,
        "endpoints": [name for view in views for one in view.endpoints for name in (one, f"history_{one}")],
    }
    # Where markets are requested one by one, the others' bodies are not even read.
    keyed = con.execute(
        f"select distinct endpoint from read_parquet([{listed}], union_by_name = true) where tick_ms >= $since "
        "and tick_ms < $until and venue = $venue and list_contains($endpoints, endpoint) and key = $symbol",
        given,
    ).fetchall()
    con.execute(read, {**given, "keyed": [endpoint for (endpoint,) in keyed]})
    con.execute("create view raw_window as select * from landed")
    for view in views:
        _create_parents(db, con, view.sql or "")
    found = [row for view in views for row in _rows_of(con, view, wanted)]
    return _responses(con, found, {str(path): load for path, load in files.items()}, bodies)


def _create_parents(db: Reader, con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """The staging views that a view reads beside the raw rows."""
    for name in {*RAW.findall(sql)} - {"raw_window"}:
        if own := db.value("select sql from methodology_sql where model = $name", {"name": name}):
            con.execute(f"create or replace view {name} as {RAW.sub(UNNAMED, own)}")


def _rows_of(con: duckdb.DuckDBPyConnection, view: View, wanted: Wanted) -> list[dict[str, Any]]:
    """The rows of the market that a staging view, run again on the raw responses, reads from them."""
    sql = RAW.sub(UNNAMED, view.sql or "")
    for text in (sql.replace(FINAL_SELECT, "\nselect\n    to_json(r) as raw_row,\n    tick_ms,", 1), sql):
        try:
            columns = [name for name, *_ in con.execute(f"describe ({text})").fetchall()]
        except duckdb.Error:
            continue  # it builds its rows in another way, or reads another table: without the row, or not at all
        if "symbol" not in columns:
            return []
        time = next((f"coalesce({name}, tick_ms)" for name in TIMES if name in columns), "tick_ms")
        # A bar that had not ended when it was requested is not used.
        used = "reject is null" + (" and closed_ms < tick_ms" if "closed_ms" in columns else "")
        result = con.execute(
            f"select * from ({text}) where symbol = $symbol and {time} >= $since and {time} < $until "
            f"and {used} order by tick_ms limit {MOST_ROWS}",
            {"symbol": wanted.symbol, "since": wanted.span.start, "until": wanted.span.end},
        )
        names = [column[0] for column in result.description or []]
        return [{"view": view.model, **dict(zip(names, row, strict=True))} for row in result.fetchall()]
    return []


def _responses(
    con: duckdb.DuckDBPyConnection, found: list[dict[str, Any]], loads: Mapping[str, str], bodies: bool
) -> list[dict[str, Any]]:
    """One entry per response, with its rows."""
    listed: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in found:
        # A stream's rows have times of receipt of their own.
        key = (row["tick_ms"], row["endpoint"], row["key"], row["requested_ms"])
        if key not in listed:
            if len(listed) == MOST_RESPONSES:
                continue
            raw = con.execute(
                "select * exclude (body), octet_length(encode(body)) as body_bytes, "
                f"case when {bodies} and body_bytes <= {MOST_BODY_BYTES} then body end as body from landed "
                "where tick_ms = $1 and endpoint = $2 and key = $3 and requested_ms = $4 "
                "order by received_ms desc limit 1",
                list(key),
            )
            names = [column[0] for column in raw.description or []]
            [values] = raw.fetchall()
            response = dict(zip(names, values, strict=True))
            path = response.pop("filename")
            file = "/".join(Path(path).parts[-2:])
            listed[key] = _response(response, loads[path], file)
        columns = {name: value for name, value in row.items() if name not in (*RECEIVED, "view", "raw_row")}
        text = row.get("raw_row")
        listed[key]["rows"].append(
            {"view": row["view"], "row": orjson.loads(text) if text else None, "columns": columns}
        )
    return list(listed.values())


def _response(known: Mapping[str, Any], load: str, file: str) -> dict[str, Any]:
    """The fields of a response, null where they are unknown."""
    names = (
        "venue",
        "endpoint",
        "key",
        "params",
        "status",
        "attempts",
        "error",
        "tick_ms",
        "requested_ms",
        "received_ms",
    )
    where = [f"{name} = {literal(value) if isinstance(value, str) else value}" for name, value in known.items()
             if name in ("tick_ms", "venue", "endpoint", "key", "requested_ms")]  # fmt: skip
    sql = f"select body from '{FOLDER}/{file}' where {' and '.join(where)}"
    return {
        **{name: known.get(name) for name in names},
        "load": load,
        "file": f"{FOLDER}/{file}",
        "rows": [],
        "body_bytes": known.get("body_bytes"),
        "body": known.get("body"),
        "read_with": f"duckdb -noheader -list -c {shlex.quote(sql)}",
    }
