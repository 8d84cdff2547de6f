"""A coin's options: positions and implied volatilities, by expiry and strike."""

import time
from typing import Any

from serve.contract.schemas import NUMBER_OR_NULL, Schema
from serve.replica.edition import Reader
from serve.replica.unavailable import Unavailable

COINS = ("BTC", "ETH")
# Options are requested every five minutes.
STALE_S = 1200
POSITIONS: Schema = {
    "call_oi": {**NUMBER_OR_NULL, "description": "Open interest of calls, coins."},
    "put_oi": {**NUMBER_OR_NULL, "description": "Open interest of puts, coins."},
    "pcr_oi": {**NUMBER_OR_NULL, "description": "Puts / calls by open interest; null without calls."},
    "pcr_vol": {**NUMBER_OR_NULL, "description": "Puts / calls by the coins traded in 24 hours; null without calls."},
    "notional_usd": {**NUMBER_OR_NULL, "description": "Open interest at spot."},
}
VOLATILITIES: Schema = dict.fromkeys(("atm_iv", "call25_iv", "put25_iv", "rr25", "fly25"), NUMBER_OR_NULL)
STRIKES_SQL = """
select strike, iv, iv_by_venue, venues, call_oi, put_oi, call_volume, put_volume, partial
from option_strikes where coin = $coin and expiry_ms = $expiry_ms order by strike
"""


def read_strikes(name: str, db: Reader, expiry_ms: int) -> list[dict[str, Any]]:
    """The strikes of one expiry, the lowest first."""
    return db.rows(STRIKES_SQL, {"coin": name, "expiry_ms": expiry_ms})


def of_coin(name: str, db: Reader) -> tuple[dict[str, Any], dict[str, Any]]:
    """The coin's row, and the fields that all responses begin with; raises Unavailable before anything was recorded."""
    found = db.rows("select * from option_coins where coin = $coin", {"coin": name})
    if not found:
        raise Unavailable(f"no options on {name} are recorded yet", missing=True)
    [row] = found
    age_s = time.time() - row["as_of_ms"] / 1000
    source = f"option_expiries@e{db.edition.edition_id}"
    common = {"coin": name, "as_of": row["as_of_ms"], "stale": age_s > STALE_S, "venues": row["venues"]}
    return row, {**common, "source": source}


def read_expiries(name: str, db: Reader, *columns: str) -> list[dict[str, Any]]:
    """These columns of the coin's expiries, the nearest first."""
    return db.rows(
        f"select expiry, expiry_ms, {', '.join(columns)} from option_expiries where coin = $coin order by expiry_ms",
        {"coin": name},
    )
