"""GET /api/options/{coin} and /api/options/{coin}/iv: open interest and implied volatilities of a coin's options."""

import time
from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError
from serve.contract.parameters import Values, coin
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Edition, Reader
from serve.replica.unavailable import Unavailable

COINS = ("BTC", "ETH")
# Options are requested every five minutes.
STALE_S = 1200
BY_VENUE: Schema = {"type": "object", "additionalProperties": NUMBER}
EXPIRY: Schema = {"expiry": TEXT, "expiry_ms": INTEGER}
POSITIONS: Schema = {
    "call_oi": {**NUMBER_OR_NULL, "description": "Open interest of calls, coins."},
    "put_oi": {**NUMBER_OR_NULL, "description": "Open interest of puts, coins."},
    "pcr_oi": {**NUMBER_OR_NULL, "description": "Puts / calls by open interest; null without calls."},
    "pcr_vol": {**NUMBER_OR_NULL, "description": "Puts / calls by the coins traded in 24 hours; null without calls."},
    "notional_usd": {**NUMBER_OR_NULL, "description": "Open interest at spot."},
}
VOLATILITIES: Schema = dict.fromkeys(("atm_iv", "call25_iv", "put25_iv", "rr25", "fly25"), NUMBER_OR_NULL)
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
COIN = coin(f"One of {', '.join(COINS)}, in any case.")


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
    of_coin, common = _of_coin(query, db)
    expiries = _expiries(query, db, "kind", "max_pain", "max_pain_by_venue", *POSITIONS, "partial")
    partial = [row["expiry"] for row in expiries if row.pop("partial")]
    totals = {name: of_coin[name] for name in POSITIONS}
    return json_body(
        {**common, "spot": of_coin["spot"], "totals": totals, "expiries": expiries, "partial_expiries": partial}
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
    of_coin, common = _of_coin(query, db)
    rows = _expiries(query, db, "days", "forward", *VOLATILITIES, "atm_iv_by_venue", "excluded")
    excluded = [{"expiry": row["expiry"], **one} for row in rows for one in row.pop("excluded")]
    expiries = [row for row in rows if row["atm_iv"] is not None]
    month = {name: of_coin[name] for name in VOLATILITIES}
    return json_body({**common, "cm_30d": month, "expiries": expiries, "excluded": excluded})


def _of_coin(name: str, db: Reader) -> tuple[dict[str, Any], dict[str, Any]]:
    """The coin's row, and the fields that both responses begin with."""
    found = db.rows("select * from option_coins where coin = $coin", {"coin": name})
    if not found:
        raise Unavailable(f"no options on {name} are recorded yet", missing=True)
    [row] = found
    age_s = time.time() - row["as_of_ms"] / 1000
    source = f"option_expiries@e{db.edition.edition_id}"
    common = {"coin": name, "as_of": row["as_of_ms"], "stale": age_s > STALE_S, "venues": row["venues"]}
    return row, {**common, "source": source}


def _expiries(name: str, db: Reader, *columns: str) -> list[dict[str, Any]]:
    return db.rows(
        f"select expiry, expiry_ms, {', '.join(columns)} from option_expiries where coin = $coin order by expiry_ms",
        {"coin": name},
    )
