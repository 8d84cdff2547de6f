"""The coin or the market of which a request speaks: 404 where there is none of that name."""

from serve.contract.errors import ApiError
from serve.replica.edition import Edition, Market


def known_coin(edition: Edition, asked: str) -> str:
    """The canonical spelling of a coin; raises 404 for one of which nothing is served."""
    base = edition.base(asked)
    if base is None:
        raise ApiError(404, "unknown coin")
    return base


def known_market(edition: Edition, market_id: str) -> Market:
    """The market of an id; raises 404 for one that there is not."""
    market = edition.markets.get(market_id)
    if market is None:
        raise ApiError(404, "unknown market")
    return market
