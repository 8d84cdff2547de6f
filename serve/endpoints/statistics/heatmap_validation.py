"""GET /api/heatmap-validation: how well the liquidation map predicted liquidations."""

from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.unavailable import Unavailable
from serve.replica.units import UNIT_MS

HORIZONS_H = (4, 24)
# As in the models liquidation_map_scores and heatmap_verdicts.
VERSION, WINDOW_DAYS, MIN_SCORED = 1, 90, 30
CONFIG = {"bin_pct": 0.1, "bands": "visited by the price, longs and shorts apart", "bootstrap": "by day, 95 %"}
RHO: Schema = {
    **NUMBER_OR_NULL,
    "description": "Spearman's rank correlation with the liquidations that followed, -1 to 1.",
}
OF_HORIZON: Schema = object_of(
    {
        "rho_model": RHO,
        "rho_base": {
            **NUMBER_OR_NULL,
            "description": "The same for a naive map, in which liquidations are more likely near the price.",
        },
        "hit_model": {
            **NUMBER_OR_NULL,
            "description": "Share of liquidations in the tenth of the bins that the map ranks highest.",
        },
        "hit_base": {**NUMBER_OR_NULL, "description": "The same for the naive map."},
        "verdict": {
            "enum": ["better", "worse", "inconclusive", "insufficient"],
            "description": "The map against the naive one, by a bootstrap of the daily differences.",
        },
    }
)
OF_COIN: Schema = object_of(
    {"rho_model": RHO, "daily": array_of(object_of({"day": TEXT, "rho_model": NUMBER}), "Medians, oldest first.")}
)


def by_horizon(schema: Schema) -> Schema:
    """An object keyed by horizon; a coin may lack one."""
    return {"type": "object", "properties": {str(hours): schema for hours in HORIZONS_H}}


SCHEMA = object_of(
    {
        "horizons_h": array_of(INTEGER),
        "sample": {**by_horizon(INTEGER), "description": "Scored maps."},
        "overall": by_horizon(OF_HORIZON),
        "coins": {"type": "object", "additionalProperties": by_horizon(OF_COIN)},
        "as_of": {**INTEGER, "description": "End of the last judged day, UTC epoch ms."},
        "window": TEXT,
        "from": {"type": ["integer", "null"], "description": "Start of the first day with a scored map."},
        "to": INTEGER,
        "venue": TEXT,
        "version": INTEGER,
        "min_scored": {**INTEGER, "description": "With fewer scored maps the verdict is insufficient."},
        "n_coins": INTEGER,
        "config": {"type": "object"},
        "source": TEXT,
    },
    optional=("as_of", "window", "from", "to", "venue", "version", "min_scored", "n_coins", "config", "source"),
)
DAILY_SQL = """
select base, horizon_h, strftime(make_timestamp_ms(frozen_ms // $day * $day), '%Y-%m-%d') as day,
    median(rho_model) as rho_model
from liquidation_map_scores
where state = 'scored' and frozen_ms >= $start and frozen_ms < $end
group by base, horizon_h, day order by base, horizon_h, day
"""
# Medians of the daily medians, as in the overall figures.
COINS_SQL = f"""
select base, horizon_h, median(rho_model) as rho_model, list({{day: day, rho_model: rho_model}} order by day) as daily
from ({DAILY_SQL}) group by base, horizon_h order by base, horizon_h
"""


@endpoint("/api/heatmap-validation", ttl=300, statuses=(200, 400, 503), schema=SCHEMA)
def heatmap_validation(query: Values, db: Reader) -> Body:
    """The liquidation map scored against the liquidations that followed, beside a naive map."""
    judged = db.rows(
        "select * from heatmap_verdicts where day_ms = (select max(day_ms) from heatmap_verdicts) order by horizon_h"
    )
    if not judged:
        raise Unavailable("no day of liquidation maps has been judged yet: the first is after two days", missing=True)
    day = UNIT_MS["d"]
    end = judged[0]["day_ms"] + day
    args = {"day": day, "start": end - WINDOW_DAYS * day, "end": end}
    coins: dict[str, dict[str, Any]] = {}
    for row in db.rows(COINS_SQL, args):
        coins.setdefault(row["base"], {})[str(row["horizon_h"])] = {
            "rho_model": row["rho_model"],
            "daily": row["daily"],
        }
    venues = db.value("select string_agg(distinct split_part(market_id, ':', 1), ', ') from liquidation_map_scores")
    return json_body(
        {
            "horizons_h": HORIZONS_H,
            "sample": {str(row["horizon_h"]): row["sample"] for row in judged},
            "overall": {
                str(row["horizon_h"]): {name: row[name] for name in OF_HORIZON["properties"]} for row in judged
            },
            "coins": coins,
            "as_of": end,
            "window": f"{WINDOW_DAYS}d",
            "from": min((row["from_ms"] for row in judged if row["from_ms"] is not None), default=None),
            "to": end,
            "venue": venues,
            "version": VERSION,
            "min_scored": MIN_SCORED,
            "n_coins": len(coins),
            "config": CONFIG,
            "source": f"heatmap_verdicts@e{db.edition.edition_id}",
        }
    )
