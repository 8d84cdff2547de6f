"""The venues that are recorded, in order: a new venue is one file and one entry here."""

from ingest.endpoint import Venue
from ingest.venues.binance import BINANCE
from ingest.venues.bybit import BYBIT
from ingest.venues.hyperliquid import HYPERLIQUID

VENUES: tuple[Venue, ...] = (BINANCE, BYBIT, HYPERLIQUID)
