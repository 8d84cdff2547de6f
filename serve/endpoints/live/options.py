"""GET /api/options/{coin}, its /iv and its /smile: open interest and implied volatilities of a coin's options."""

import re
from typing import NamedTuple

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError, BadParameter
from serve.contract.parameters import Param, Values, coin
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.figures.options import COINS, POSITIONS, STALE_S, VOLATILITIES, of_coin, read_expiries, read_strikes
from serve.replica.edition import Edition, Reader

MONTH_DAYS = 30
BY_VENUE: Schema = {"type": "object", "additionalProperties": NUMBER}
EXPIRY: Schema = {"expiry": TEXT, "expiry_ms": INTEGER}
COMMON: Schema = {
    "coin": {"enum": list(COINS)},
    "as_of": {**INTEGER, "description": "Oldest snapshot that is used, UTC epoch ms."},
    "stale": {"type": "boolean", "description": f"as_of is more than {STALE_S // 60} minutes ago."},
    "venues": array_of(TEXT),
}
COMMON_OPTIONAL = ("coin", "as_of", "stale", "source")
SCHEMA = object_of(
    {
        **COMMON,
        "spot": {**NUMBER_OR_NULL, "description": "Mean of the venues' index prices, USD."},
        "totals": object_of(POSITIONS),
        "expiries": array_of(
            object_of(
                {
                    **EXPIRY,
                    "kind": {"enum": ["day", "week", "month", "quarter"]},
                    "max_pain": {
                        **NUMBER_OR_NULL,
                        "description": "Strike at which all options pay out least, USD; null without open interest.",
                    },
                    "max_pain_by_venue": BY_VENUE,
                    **POSITIONS,
                }
            )
        ),
        "partial_expiries": array_of(TEXT, "Expiries with an option whose open interest is not known."),
        "source": TEXT,
    },
    optional=(*COMMON_OPTIONAL, "spot", "totals", "partial_expiries"),
)
IV_SCHEMA = object_of(
    {
        **COMMON,
        "cm_30d": {
            **object_of(VOLATILITIES),
            "description": "At a constant maturity of 30 days; null where 30 days are not between two expiries.",
        },
        "expiries": array_of(
            object_of(
                {**EXPIRY, "days": NUMBER, "forward": NUMBER_OR_NULL, **VOLATILITIES, "atm_iv_by_venue": BY_VENUE}
            ),
            "Volatilities as fractions a year (0.5 is 50 %).",
        ),
        "excluded": array_of(
            object_of(
                {
                    "expiry": TEXT,
                    "venue": TEXT,
                    "reason": {"enum": ["no_forward", "forward_not_listed", "deltas_not_listed"]},
                }
            ),
            "Venues whose smile of an expiry does not reach the forward, or a delta of 25 on both sides.",
        ),
        "source": TEXT,
    },
    optional=(*COMMON_OPTIONAL, "excluded"),
)
SMILE_SCHEMA = object_of(
    {
        **COMMON,
        "spot": {**NUMBER_OR_NULL, "description": "Mean of the venues' index prices, USD."},
        "expiry": TEXT,
        "expiry_ms": INTEGER,
        "days": NUMBER,
        "forward": {**NUMBER_OR_NULL, "description": "Forward price of the expiry, USD per coin."},
        "atm_iv": {**NUMBER_OR_NULL, "description": "Volatility at the forward, a fraction a year."},
        "expiries": array_of(TEXT, "All that may be asked for, the nearest first."),
        "strikes": array_of(
            object_of(
                {
                    "strike": NUMBER,
                    "iv": {
                        **NUMBER_OR_NULL,
                        "description": "Of the options out of the money, a fraction a year; null where there is none.",
                    },
                    "iv_by_venue": BY_VENUE,
                    "venues": array_of(TEXT, "Venues that list the strike."),
                    **{
                        f"{side}_{what}": {**NUMBER_OR_NULL, "description": f"{text} of {side}s, coins."}
                        for what, text in (("oi", "Open interest"), ("volume", "Traded in 24 hours"))
                        for side in ("call", "put")
                    },
                    "partial": {"type": "boolean", "description": "The open interest of an option is not known."},
                }
            ),
            "The lowest strike first.",
        ),
        "source": TEXT,
    },
    optional=(*COMMON_OPTIONAL, "spot"),
)
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
COIN = coin(f"One of {', '.join(COINS)}, in any case.")


def _day(name: str, text: str) -> str:
    if not DAY.fullmatch(text):
        raise BadParameter(name, text, "use a day as YYYY-MM-DD")
    return text


EXPIRY_PARAM = Param(
    "Day of the expiry, UTC, one of the answer's `expiries`; that nearest to 30 days ahead without it.",
    _day,
    {"type": "string", "pattern": f"^{DAY.pattern}$"},
)


class SmileQuery(NamedTuple):
    """A request for the smile of one expiry; None is the one nearest to 30 days ahead."""

    coin: str
    expiry: str | None


def resolve_smile(values: Values, edition: Edition, keyed: bool) -> SmileQuery:
    """The canonical query; whether the expiry is listed is known to the answer alone."""
    return SmileQuery(resolve_coin(values, edition, keyed), values["expiry"])


def resolve_coin(values: Values, edition: Edition, keyed: bool) -> str:
    """The canonical coin; raises 404 for one without options here."""
    found: str = values["coin"].upper()
    if found not in COINS:
        raise ApiError(404, "unknown coin")
    return found


# Not cached: `stale` depends on the clock.
@endpoint(
    "/api/options/{coin}",
    ttl=None,
    statuses=(200, 400, 404, 503),
    schema=SCHEMA,
    table="expiries",
    resolve=resolve_coin,
    params={"coin": COIN},
)
def options(query: str, db: Reader) -> Body:
    """A coin's options by expiry: open interest, put/call ratios, max pain."""
    row, common = of_coin(query, db)
    expiries = read_expiries(query, db, "kind", "max_pain", "max_pain_by_venue", *POSITIONS, "partial")
    partial = [row["expiry"] for row in expiries if row.pop("partial")]
    totals = {name: row[name] for name in POSITIONS}
    return json_body(
        {**common, "spot": row["spot"], "totals": totals, "expiries": expiries, "partial_expiries": partial}
    )


@endpoint(
    "/api/options/{coin}/iv",
    ttl=None,
    statuses=(200, 400, 404, 503),
    schema=IV_SCHEMA,
    table="expiries",
    resolve=resolve_coin,
    params={"coin": COIN},
)
def options_iv(query: str, db: Reader) -> Body:
    """A coin's implied volatilities by expiry: at the forward, at deltas of 25, and at 30 days."""
    row, common = of_coin(query, db)
    rows = read_expiries(query, db, "days", "forward", *VOLATILITIES, "atm_iv_by_venue", "excluded")
    excluded = [{"expiry": row["expiry"], **one} for row in rows for one in row.pop("excluded")]
    expiries = [row for row in rows if row["atm_iv"] is not None]
    month = {name: row[name] for name in VOLATILITIES}
    return json_body({**common, "cm_30d": month, "expiries": expiries, "excluded": excluded})


@endpoint(
    "/api/options/{coin}/smile",
    ttl=None,
    statuses=(200, 400, 404, 503),
    schema=SMILE_SCHEMA,
    table="strikes",
    resolve=resolve_smile,
    params={"coin": COIN, "expiry": EXPIRY_PARAM},
)
def options_smile(query: SmileQuery, db: Reader) -> Body:
    """The smile of one expiry: implied volatility and open interest strike by strike."""
    row, common = of_coin(query.coin, db)
    expiries = {row["expiry"]: row for row in read_expiries(query.coin, db, "days", "forward", "atm_iv")}
    expiry = query.expiry or min(expiries, key=lambda day: abs(expiries[day]["days"] - MONTH_DAYS))
    if expiry not in expiries:
        raise BadParameter("expiry", expiry, "use one of " + ", ".join(expiries), expiries)
    found = expiries[expiry]
    strikes = read_strikes(query.coin, db, found["expiry_ms"])
    source = f"option_strikes@e{db.edition.edition_id}"
    return json_body(
        {**common, "source": source, "spot": row["spot"], **found, "expiries": list(expiries), "strikes": strikes}
    )
