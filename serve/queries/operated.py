"""What an edition says of its exchanges, for those who operate an installation."""

from typing import NamedTuple

from serve.replica.edition import Reader


class VenueState(NamedTuple):
    """One exchange in an edition: its last good minute (UTC epoch ms), endpoints that answer and that fail, and its
    markets in the newest two minutes."""

    last_good_ms: int | None
    ok_endpoints: int
    failed_endpoints: int
    markets: int


SQL = """
select venue, last_good_ms, ok_endpoints, failed_endpoints, coalesce(markets, 0)
from recording_status
left join (
    select index.venue, count(*) as markets from market_index as index
    where last_ms >= (select max(last_ms) from market_index) - 120_000 group by index.venue
) using (venue)
order by venue
"""


def venue_states(db: Reader) -> dict[str, VenueState]:
    """By exchange; the same for the whole edition."""

    def read() -> dict[str, VenueState]:
        return {venue: VenueState(*rest) for venue, *rest in db.cursor.execute(SQL).fetchall()}

    return db.once("venue_states", read)
