"""The venues that are recorded, in order: a new venue is one file and one entry here."""

from ingest.declaration.endpoint import Venue
from ingest.venues.aster import ASTER
from ingest.venues.binance import BINANCE
from ingest.venues.bitget import BITGET
from ingest.venues.bithumb import BITHUMB
from ingest.venues.bybit import BYBIT
from ingest.venues.coinbase import COINBASE
from ingest.venues.deribit import DERIBIT
from ingest.venues.fx import FX
from ingest.venues.gate import GATE
from ingest.venues.hyperliquid import HYPERLIQUID
from ingest.venues.kucoin import KUCOIN
from ingest.venues.lighter import LIGHTER
from ingest.venues.mexc import MEXC
from ingest.venues.okx import OKX
from ingest.venues.upbit import UPBIT

VENUES: tuple[Venue, ...] = (
    BINANCE,
    BYBIT,
    HYPERLIQUID,
    BITGET,
    OKX,
    GATE,
    MEXC,
    KUCOIN,
    ASTER,
    LIGHTER,
    UPBIT,
    BITHUMB,
    COINBASE,
    DERIBIT,
    FX,
)
