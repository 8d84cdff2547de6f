"""GET /api/spike-stats and /api/spike-stats/{COIN}: what prices did after volume spikes."""

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError
from serve.contract.parameters import Values, coin, one_of
from serve.contract.schemas import (
    BOOLEAN,
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER_OR_NULL,
    TEXT,
    Schema,
    array_of,
    object_of,
)
from serve.contract.serialize import Body, json_body
from serve.queries.spikes import HORIZONS_MIN, OUTCOME, read_outcomes
from serve.replica.edition import Edition, Reader
from serve.replica.unavailable import Unavailable

COIN_HORIZON = 60
# Coins with fewer outcomes are ranked neither best nor worst.
LEAST_N, MOST, RECENT = 30, 5, 20
TURNED: Schema = {**NUMBER_OR_NULL, "description": "Return in the spike's direction, a fraction."}
FIGURES = object_of(
    {
        "horizon_min": {"enum": list(HORIZONS_MIN)},
        "n": {**INTEGER, "description": "Observed outcomes of spikes with a direction."},
        "hits": {**INTEGER, "description": "Of these, returns above 0 in the spike's direction."},
        "hit_rate": NUMBER_OR_NULL,
        "base_rate": {**NUMBER_OR_NULL, "description": "The hit rate of random directions."},
        **dict.fromkeys(("q1", "median", "q3", "mean"), TURNED),
        **dict.fromkeys(("first_ms", "last_ms"), INTEGER_OR_NULL),
        "n_independent": {**INTEGER, "description": "Periods of the horizon's length that contain an outcome."},
        "low_n": {**BOOLEAN, "description": "n is below 30."},
    }
)
OVERALL = array_of(FIGURES, "One entry a horizon.")
COIN: Schema = {"base": TEXT, "n": INTEGER, "hits": INTEGER, "hit_rate": NUMBER_OR_NULL, "median": NUMBER_OR_NULL}
COMMON: Schema = {
    "window": TEXT,
    "as_of": {**INTEGER, "description": "When it was counted, UTC epoch ms: once an hour; of all time once a day."},
    "since_ms": INTEGER,
    "sample": {**INTEGER, "description": "Spikes of the window."},
    "mixed": {**BOOLEAN, "description": "Both directions are among them."},
    "low_n": {**BOOLEAN, "description": "A horizon has fewer than 30 outcomes."},
    "measured": {**INTEGER, "description": "Outcomes that are due and observed, over all horizons."},
    "pending": INTEGER,
    "unavailable": {**INTEGER, "description": "Outcomes that were never observed."},
    **dict.fromkeys(("first_ms", "last_ms"), INTEGER_OR_NULL),
    "overall": OVERALL,
    "by": object_of(
        {
            "venues": array_of(object_of({"venue": TEXT, "hip3": BOOLEAN, "overall": OVERALL}), "HIP-3 markets apart."),
            "directions": array_of(object_of({"dir": TEXT, "overall": OVERALL})),
        }
    ),
    "horizons_min": {"const": list(HORIZONS_MIN)},
}
LISTED = array_of(object_of(COIN))
SCHEMA = object_of(
    {
        **COMMON,
        "coins": {**LISTED, "description": f"After {COIN_HORIZON} minutes; by n."},
        "n_coins": INTEGER,
        "best": {**LISTED, "description": f"Highest hit rates, of coins with at least {LEAST_N} outcomes."},
        "worst": {**LISTED, "description": "Lowest hit rates, of the same coins."},
        "min_coin_n": {"const": LEAST_N},
    }
)
SPIKE: Schema = {
    "id": INTEGER,
    "ts": INTEGER,
    **dict.fromkeys(("venue", "symbol"), TEXT),
    "hip3": {"type": ["boolean", "null"]},
    "dir": {"enum": ["buy", "sell", None]},
    **dict.fromkeys(("sig", "volume_usd", "price"), NUMBER_OR_NULL),
}
COIN_SCHEMA = object_of(
    {
        "base": TEXT,
        **COMMON,
        "recent": array_of(
            object_of({**SPIKE, "outcomes": array_of(OUTCOME)}), f"The newest {RECENT} volume spikes, newest first."
        ),
    }
)
COLUMNS = [name for name in COMMON if name not in ("window", "by", "horizons_min")]
WHOLE_SQL = f'select {", ".join(COLUMNS)}, split as "by" from spike_stats where lookback = $window and base = $base'
COINS_SQL = f"""
select {", ".join(COIN)} from spike_stats where lookback = $window and base <> '' and n > 0 order by n desc, base
"""
RECENT_SQL = f"""
select {", ".join(SPIKE)} from spikes where coalesce(base, symbol) = $base and kind = 'volume'
order by ts desc, id limit {RECENT}
"""
WINDOW = one_of("By the spike's time.", "7d", "30d", "all", default="30d")
NOTHING = "no spike has been counted yet; that is done once an hour, and when a backfill has ended"


@endpoint("/api/spike-stats", ttl=60, statuses=(200, 400, 503), schema=SCHEMA, params={"window": WINDOW})
def spike_stats(query: Values, db: Reader) -> Body:
    """What prices did 5, 15 and 60 minutes after volume spikes, over all coins and by coin."""
    whole = db.rows(WHOLE_SQL, {"window": query["window"], "base": ""})
    if not whole:
        raise Unavailable(NOTHING, missing=True)
    if not whole[0]["sample"]:
        raise Unavailable(f"no spike was recorded in {query['window']}")
    coins = db.rows(COINS_SQL, {"window": query["window"]})
    ranked = sorted((one for one in coins if one["n"] >= LEAST_N), key=lambda one: (one["hit_rate"], one["median"]))
    return json_body(
        {
            "window": query["window"],
            **whole[0],
            "horizons_min": list(HORIZONS_MIN),
            "coins": coins,
            "n_coins": len(coins),
            "best": ranked[::-1][:MOST],
            "worst": ranked[:MOST],
            "min_coin_n": LEAST_N,
        }
    )


def resolve_coin(values: Values, edition: Edition, keyed: bool) -> dict[str, str]:
    """The query with the coin's canonical spelling; an unknown coin stays as it is."""
    return {**values, "COIN": edition.base(values["COIN"]) or values["COIN"]}


@endpoint(
    "/api/spike-stats/{COIN}",
    ttl=60,
    statuses=(200, 400, 404, 503),
    schema=COIN_SCHEMA,
    resolve=resolve_coin,
    params={"COIN": coin("Coin, in any case."), "window": WINDOW},
)
def coin_spike_stats(query: Values, db: Reader) -> Body:
    """One coin: what its price did after volume spikes, by exchange and direction, and its newest spikes."""
    base = query["COIN"]
    recent = db.rows(RECENT_SQL, {"base": base})
    whole = db.rows(WHOLE_SQL, {"window": query["window"], "base": base})
    if not whole and not recent:
        raise ApiError(404, f"no spike of {base} has been recorded")
    if not whole:
        raise Unavailable(NOTHING, missing=True)
    outcomes = read_outcomes(db, recent)
    return json_body(
        {
            "base": base,
            "window": query["window"],
            **whole[0],
            "horizons_min": list(HORIZONS_MIN),
            "recent": [{**spike, "outcomes": outcomes[spike["id"]]} for spike in recent],
        }
    )
