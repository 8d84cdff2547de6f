"""A small venue on loopback with a history of bars, and a process that fetches it, for the tests of the backfill."""

import asyncio
import json
import sys
from pathlib import Path

from aiohttp import web

from ingest.backfill.backfill import Pace, backfill
from ingest.backfill.wanted import Wanted
from ingest.declaration.endpoint import Endpoint, FanOut, Pool
from ingest.declaration.history import History
from ingest.declaration.venue import Venue
from tests.support.servers.loopback_venue import HOST, Seen

KEYS = tuple(f"coin{n:02d}" for n in range(20))
HOUR = 3_600_000
BEGIN, END = 1_772_582_400_000, 1_772_582_400_000 + 40 * HOUR
WANTED = Wanted(begin_ms=BEGIN, end_ms=END)
BODY_BYTES = 16 * 10
FAST = Pace(minute_ms=1000, land_ms=200, built_ms=600, answer_s=3.0, again_s=(0.2, 0.2))


PAST = History(
    "perp_bars",
    "1h",
    HOST,
    "/bars",
    "all",
    lambda piece: {"symbol": piece.key, "from": piece.begin_ms, "to": piece.end_ms},
    lambda body: body,
    most=10,
    order="span",
    days=1,
)


def venue(keys: tuple[str, ...] = KEYS) -> Venue:
    bars = Endpoint("perp_bars", HOST, "/minutes", "all", fan_out=FanOut(always=keys))
    return Venue("past", (Pool("all", 100_000, 1, history=50_000),), (bars,), history=(PAST,))


VENUE = venue()


def times() -> range:
    return range(BEGIN, END, HOUR)


def answer(seen: Seen, n: int) -> web.Response:
    first, last = int(seen.query["from"]), int(seen.query["to"])
    return web.json_response([at for at in times() if first <= at < last])


def broken(seen: Seen, n: int) -> web.Response:
    """Two markets without data: one that the venue does not know, and one for which it fails."""
    status = {"coin03": 200, "wrong": 400, "down": 500}.get(seen.query["symbol"], 200)
    return answer(seen, n) if status == 200 else web.Response(status=status, text="no")


async def main(home: str, landing: str, url: str, *keys: str) -> int:
    state = await backfill(Path(home), landing, url, WANTED, venues=[venue(keys or KEYS)], pace=FAST)
    print(json.dumps(state.summary()))
    return 0 if state.state == "done" else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
