"""GET /api/coin/{base}: one coin's figures, liquidations, long/short ratios, alerts and taker flow."""

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError
from serve.contract.known import known_coin
from serve.contract.parameters import Values, coin
from serve.contract.serialize import Body
from serve.queries.figures.coin import SCHEMA, read_coin_detail
from serve.replica.edition import Edition, Reader


def resolve_coin(values: Values, edition: Edition, keyed: bool) -> str:
    """The canonical coin; raises 404 for an unknown one."""
    return known_coin(edition, values["base"])


@endpoint(
    "/api/coin/{base}",
    ttl=15,
    statuses=(200, 400, 404, 503),
    schema=SCHEMA,
    resolve=resolve_coin,
    params={"base": coin("Coin, in any case.")},
)
def coin_detail(query: str, db: Reader) -> Body:
    """One coin: its figures, liquidations, long/short ratios, spike alerts and net taker flow of 24 hours."""
    found = read_coin_detail(db, query)
    if found is None:
        raise ApiError(404, "unknown coin")
    return found
