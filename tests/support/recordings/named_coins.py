"""The coin that a market's name says, by the seed `symbols`: as the model `int_listed_markets` joins it."""

import csv
from functools import cache

from tests.support.pipeline.dbt_project import PROJECT
from tests.support.recordings.recorded_lists import Market


@cache
def seed() -> list[dict[str, str]]:
    with (PROJECT / "seeds/symbols.csv").open() as file:
        return list(csv.DictReader(file))


@cache
def coin(venue: str, kind: str, symbol: str, token: str) -> tuple[str, float]:
    """The coin of a market and how many of it a token is, as the model `instruments` joins the seed."""
    places = ("", kind, f"{kind}:{symbol}")
    rows = [
        row
        for row in seed()
        if row["venue"] in (venue, "*") and row["symbol_base"] == token and row["market"] in places
    ]
    if not rows:
        return token, 1.0
    row = min(rows, key=lambda row: (row["venue"] == "*", -len(row["market"])))
    return row["base"], float(row["multiplier"])


def named(market: Market) -> tuple[str, float]:
    return coin(market.venue, market.type, market.symbol, market.token)
