"""spike_feed and spike_outcomes: volume spike alerts, and the price changes after them."""

import base64
from typing import Any
from urllib.parse import quote

import numpy as np
import orjson

from serve.contract.errors import ApiError, BadParameter, argument_details
from serve.contract.parameters import MAX_SAFE_INTEGER, Param, Values, coin, one_of, venue
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT_OR_NULL, array_of, object_of
from serve.mcp.arguments import (
    check_order,
    find_coin,
    ids,
    number_from,
    string,
    whole_number,
    window,
)
from serve.mcp.tool import PRICE_DIGITS, Tool, ToolResult, fresh_until, rounded
from serve.queries.accuracy import warn_of_inaccuracy
from serve.queries.spikes import (
    COLUMNS,
    DEFAULT_WINDOW_MS,
    HORIZONS_MIN,
    LONGEST_WINDOW_MS,
    SPIKE,
    FeedQuery,
    read_feed,
    read_outcomes,
)
from serve.queries.time_range import span_of
from serve.replica.edition import Edition, Reader
from serve.replica.gaps import before_recording, gaps_within
from serve.replica.units import UNIT_MS, Span

MINUTE, HOUR = UNIT_MS["m"], UNIT_MS["h"]
MAX_IDS = 50
# Spikes are found in the bars of this metric, so its gaps are listed.
BARS = "volume"
FILTERS = ("base", "venue", "side", "min_sig")
METHOD = (
    "Spikes (version 1): a closed 1-minute bar of at least 50,000 USD whose log volume stands 6 or more robust standard"
    " deviations (sig) above the market's own 24 hours before; one per market in 15 minutes."
)
SPIKE_UNITS = {
    "ts": "UTC epoch ms, start of the bar",
    "sig": "robust standard deviations",
    "volume_usd": "USD",
    "baseline_usd": "USD, median bar of the 24 hours before",
    "price": "USD per one coin",
}


def resolve_feed(values: Values, edition: Edition, keyed: bool) -> FeedQuery:
    """The canonical query. A cursor contains the window and the filters of its page."""
    base = find_coin("base", values["base"], edition) if values["base"] else None
    filters = {**{name: values[name] for name in FILTERS}, "base": base}
    if values["cursor"] is not None:
        return _next_page(values, filters)
    check_order(values)
    start, end = values["start"], values["end"]
    length = values["range"] or (None if start is not None and end is not None else DEFAULT_WINDOW_MS)
    span = span_of(start, end, length, edition.as_of_ms)
    if span.end - span.start > LONGEST_WINDOW_MS:
        details = argument_details("range", f"{(span.end - span.start) / HOUR:.6g}h", "at most 24h", "24h")
        raise ApiError(400, "range: the window may be at most 24h long; ask for several windows", details=details)
    return FeedQuery(start=span.start, end=span.end, **filters, limit=values["limit"], after=None)


def feed(query: FeedQuery, db: Reader) -> ToolResult:
    """One page of the window, newest first."""
    spikes = [_rounded(spike) for spike in read_feed(db, query)]
    page, span = spikes[: query.limit], Span(query.start, query.end)
    return ToolResult(
        data={
            "summary": {"spikes": len(page), **{side: _count(page, side) for side in ("buy", "sell")}},
            "spikes": page,
            "next_cursor": _cursor(query, page[-1]) if len(spikes) > query.limit else None,
        },
        units=SPIKE_UNITS,
        span=span,
        known=_recorded(db, span),
        fresh_until_ms=fresh_until(db.edition.as_of_ms - MINUTE, MINUTE, span, db.edition),
        source=f"spikes@e{db.edition.edition_id}",
        method=METHOD,
        gaps=_gaps(db, span, query.venue),
        venue=query.venue,
        warnings=warn_of_inaccuracy(db, ("price", "volume"), query.base, query.venue),
        page=f"/spikes/{quote(query.base, safe='')}" if query.base else "/spikes",
    )


def find_outcomes(query: tuple[int, ...], db: Reader) -> ToolResult:
    """The outcomes of each spike, in the order of the ids."""
    listed = ", ".join(map(str, query))
    spikes = {spike["id"]: _rounded(spike) for spike in db.rows(f"select {COLUMNS} from spikes where id in ({listed})")}
    outcomes = read_outcomes(db, list(spikes.values()))
    found = [
        {**spikes[number], "returns": [_outcome(spikes[number], outcome) for outcome in outcomes[number]]}
        for number in query
        if number in spikes
    ]
    unknown = [number for number in query if number not in spikes]
    warnings = []
    if unknown:
        message = f"No spike has these ids: {', '.join(map(str, unknown))}. Take ids from spike_feed."
        warnings.append({"code": "unknown_id", "message": message})
    times = [spike["ts"] for spike in found] or [db.edition.as_of_ms - HOUR]
    span = Span(min(times), min(max(times) + HORIZONS_MIN[-1] * MINUTE + MINUTE, db.edition.as_of_ms))
    states = [one["state"] for spike in found for one in spike["returns"]]
    return ToolResult(
        data={
            "summary": {state: states.count(state) for state in ("observed", "pending", "unavailable")},
            "outcomes": found,
            "unknown_ids": unknown,
        },
        units={**SPIKE_UNITS, "return": "fraction", "directional_return": "fraction", "due_ms": "UTC epoch ms"},
        span=span,
        known=_recorded(db, span),
        fresh_until_ms=fresh_until(db.edition.as_of_ms - MINUTE, MINUTE, span, db.edition)
        if "pending" in states
        else None,
        source=f"spikes, spike_outcomes@e{db.edition.edition_id}",
        gaps=[gap for gap in _gaps(db, span, None) if gap["venue"] is None and any(_concerns(gap, t) for t in times)],
        method="return = close of the market's 1-minute bar so many minutes later / alert price - 1;"
        " directional_return turns its sign for sell spikes. Never from a later bar.",
        warnings=warnings,
        page="/spikes",
    )


def _concerns(gap: dict[str, Any], ts: int) -> bool:
    """Whether a gap overlaps the hour that decides a spike's outcomes."""
    return bool(gap["start"] < ts + (HORIZONS_MIN[-1] + 1) * MINUTE and gap["end"] > ts)


def _outcome(spike: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    due = spike["ts"] + (outcome["horizon_min"] + 1) * MINUTE
    return {**{name: rounded(value) for name, value in outcome.items()}, "due_ms": due}


def _rounded(spike: dict[str, Any]) -> dict[str, Any]:
    return {name: rounded(value, PRICE_DIGITS) if name == "price" else rounded(value) for name, value in spike.items()}


def _count(spikes: list[dict[str, Any]], side: str) -> int:
    return sum(spike["dir"] == side for spike in spikes)


def _recorded(db: Reader, span: Span) -> Span | None:
    """The recorded part of a range."""
    since = db.edition.recorded_since_ms
    start, end = max(span.start, span.end if since is None else since), min(span.end, db.edition.as_of_ms)
    return Span(start, end) if start < end else None


def _gaps(db: Reader, span: Span, venue: str | None) -> list[dict[str, Any]]:
    definition = db.edition.catalog.by_name.get(BARS)
    recorded = gaps_within(db, definition, "all", venue, span) if definition else []
    return [*before_recording(db, np.empty(0, np.int64), 0, span), *recorded]


def _cursor(query: FeedQuery, last: dict[str, Any]) -> str:
    """Window, filters and last spike of a page: all that the next page needs, also in a later edition."""
    parts = [query.start, query.end, *(getattr(query, name) for name in FILTERS), last["ts"], last["id"]]
    return base64.urlsafe_b64encode(orjson.dumps(parts)).rstrip(b"=").decode()


def _next_page(values: Values, filters: dict[str, Any]) -> FeedQuery:
    cursor = values["cursor"]
    for name in ("start", "end", "range"):
        if values[name] is not None:
            raise BadParameter(name, str(values[name]), "leave it out beside cursor, which has the window")
    try:
        parts = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        start, end, *kept, ts, number = parts
        times = (start, end, ts, number)
        sound = len(kept) == len(FILTERS) and all(type(one) is int and 0 <= one <= MAX_SAFE_INTEGER for one in times)
        sound = sound and all(isinstance(word, str | None) for word in kept[:3]) and isinstance(kept[3], float | None)
    except (ValueError, TypeError):
        sound = False
    if not sound or not 0 < end - start <= LONGEST_WINDOW_MS:
        raise BadParameter("cursor", cursor, "use next_cursor of the page before, as it was given")
    for name, value in zip(FILTERS, kept, strict=True):
        if filters[name] not in (None, value):
            raise BadParameter(name, str(filters[name]), f"cursor belongs to {name} {value}: leave {name} out")
    filters = dict(zip(FILTERS, kept, strict=True))
    return FeedQuery(start=start, end=end, **filters, limit=values["limit"], after=(ts, number))


def _cursor_text(name: str, value: str) -> str:
    return value


SPIKE_FEED = Tool(
    "spike_feed",
    "Feed of volume spikes",
    "Alerts of sudden volume: single minutes in which a market traded far more than in its own 24 hours before, newest"
    " first, in a window of at most 24 hours. Give the ids to spike_outcomes to see what the price did then.",
    {
        **window("Length up to now, at most 24h; 1h without it.", "6h"),
        "base": string(coin("Only this coin, in any case.")),
        "venue": string(venue("Only this exchange.")),
        "side": string(one_of("Only spikes of this direction.", "buy", "sell")),
        "min_sig": number_from("Only spikes of at least this significance (all have at least 6).", 0),
        "limit": whole_number("At most so many spikes a page.", 1, 200, 50),
        "cursor": string(
            Param(
                "next_cursor of the page before; it has that page's window and filters.",
                _cursor_text,
                {"type": "string"},
            )
        ),
    },
    object_of(
        {
            "summary": {
                **object_of(dict.fromkeys(("spikes", "buy", "sell"), INTEGER)),
                "description": "How many this page has.",
            },
            "spikes": array_of(object_of(SPIKE), "Newest first."),
            "next_cursor": {**TEXT_OR_NULL, "description": "For the next page; null on the last one."},
        }
    ),
    resolve_feed,
    feed,
)
SPIKE_OUTCOMES = Tool(
    "spike_outcomes",
    "Outcomes of volume spikes",
    "What the price of a market did 5, 15 and 60 minutes after volume spikes. Takes ids from spike_feed. A return is"
    " pending until it is due, and unavailable (missing_outcome) for good where the bar that decides never came.",
    {"ids": ids("Ids of spikes, from spike_feed.", MAX_IDS)},
    object_of(
        {
            "summary": {
                **object_of(dict.fromkeys(("observed", "pending", "unavailable"), INTEGER)),
                "description": "How many returns are in each state.",
            },
            "outcomes": array_of(
                object_of(
                    {
                        **SPIKE,
                        "returns": array_of(
                            object_of(
                                {
                                    "horizon_min": INTEGER,
                                    "state": {"enum": ["pending", "observed", "unavailable"]},
                                    "reason": {"enum": ["missing_outcome", None]},
                                    "return": NUMBER_OR_NULL,
                                    "directional_return": NUMBER_OR_NULL,
                                    "due_ms": INTEGER,
                                }
                            )
                        ),
                    }
                ),
                "In the order of the ids.",
            ),
            "unknown_ids": array_of(INTEGER, "Ids that no spike has."),
        }
    ),
    lambda values, edition, keyed: values["ids"],
    find_outcomes,
)
