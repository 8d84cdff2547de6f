"""Hyperliquid: core perpetuals, builder-deployed dexes (HIP-3), spot, and the largest wallets.

It publishes no liquidations; they show in the fills of those who are liquidated and of the vaults that take over.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any

import orjson

from ingest.declaration.archive import Archive
from ingest.declaration.endpoint import MINUTE_MS, Bars, Body, Endpoint, FanOut, Keys, Pool, Request, Stream
from ingest.declaration.history import History, Interval
from ingest.declaration.reduction import BestRows
from ingest.declaration.venue import Venue

API = "api.hyperliquid.xyz"
STATS = "stats-data.hyperliquid.xyz"
HOUR, DAY = 3600, 86_400
# The vaults of the venue that take over positions which cannot be closed in the market (the children of the HLP,
# 0xdfc24b077bc1425ad1dea75bcb6f8158e10df303, and one that stands alone).
LIQUIDATORS = (
    "0x2e3d94f0562703b25c83308a05046ddaf9a8dd14",
    "0xb0a55f13d22f66e6d495ac98113841b2326e9540",
    "0x5e177e5e39c0f4e421f5865a6d8beed8d921cb70",
    "0x2ed5c4484ea3ff8b57d5f2fb152a40d9f2b68308",
    "0x63c621a33714ec48660e32f2374895c8026a3a00",
)
VAULTS = {*LIQUIDATORS, "0xdfc24b077bc1425ad1dea75bcb6f8158e10df303"}
TRACKED, BY_VALUE, BATCH = 500, 300, 50
"""Wallets whose positions are followed: so many of them by account value, the others by their volume of a week."""
DEXES = ("xyz", "flx", "hyna", "km", "vntl", "cash")
"""Builder-deployed dexes on which the wallets' positions are followed."""


def _dexes(body: Body) -> Iterator[tuple[str, float]]:
    # The first entry is null: the core dex, requested without a name.
    return ((dex["name"], 0.0) for dex in body if dex)


def _listed(body: Body) -> Iterator[tuple[str, float]]:
    # Contexts match the universe by position; delisted coins stay in both.
    meta, contexts = body
    pairs = zip(meta["universe"], contexts, strict=False)
    return ((coin["name"], float(ctx["dayNtlVlm"] or 0)) for coin, ctx in pairs if not coin.get("isDelisted"))


def _account_value(row: Body) -> float:
    return float(row["accountValue"])


def _week_volume(row: Body) -> float:
    return float(dict(row["windowPerformances"])["week"]["vlm"])


def _tracked(body: Body) -> list[str]:
    """Addresses, best first."""
    rows = [row for row in body["leaderboardRows"] if row["ethAddress"].lower() not in VAULTS]
    by_value = sorted(rows, key=_account_value, reverse=True)
    by_volume = sorted(by_value[BY_VALUE:], key=_week_volume, reverse=True)
    return [row["ethAddress"].lower() for row in by_value[:BY_VALUE] + by_volume[: TRACKED - BY_VALUE]]


def _wallets(body: Body) -> Iterator[tuple[str, float]]:
    return ((url_of, -float(rank)) for rank, url_of in enumerate(_tracked(body)))


def _batches(body: Body) -> Iterator[tuple[str, float]]:
    addresses = _tracked(body)
    return ((",".join(addresses[at : at + BATCH]), 0.0) for at in range(0, len(addresses), BATCH))


def _batches_of_dexes(body: Body) -> Iterator[tuple[str, float]]:
    return ((f"{dex}:{some}", 0.0) for dex in DEXES for some, _ in _batches(body))


def _liquidators(_: Body) -> Iterator[tuple[str, float]]:
    return ((url_of, 0.0) for url_of in LIQUIDATORS)


def _positions(request: Request) -> dict[str, Any]:
    return {"type": "batchClearinghouseStates", "users": request.key.split(",")}


def _positions_of_dex(request: Request) -> dict[str, Any]:
    dex, _, users = request.key.partition(":")
    return {"type": "batchClearinghouseStates", "dex": dex, "users": users.split(",")}


def _fills(request: Request) -> dict[str, Any]:
    return {"type": "userFillsByTime", "user": request.key, "startTime": request.tick_ms - request.bars * MINUTE_MS}


def _settled(request: Request) -> dict[str, Any]:
    return {"type": "fundingHistory", "coin": request.key, "startTime": request.tick_ms - request.bars * MINUTE_MS}


def _subscribe(operation: str, users: list[str]) -> list[str]:
    return [
        orjson.dumps({"method": operation, "subscription": {"type": "userFills", "user": user}}).decode()
        for user in users
    ]


def _is_no_fill(frame: str) -> bool:
    return frame.startswith('{"channel":"pong"') or frame.startswith('{"channel":"subscriptionResponse"')


def _refused(frame: str) -> str | None:
    if not frame.startswith('{"channel":"error"'):
        return None
    return f"subscription refused: {orjson.loads(frame).get('data')}"


def _contexts(request: Request) -> dict[str, Any]:
    return {"type": "metaAndAssetCtxs", "dex": request.key} if request.key else {"type": "metaAndAssetCtxs"}


def _candles(request: Request) -> dict[str, Any]:
    span = {"startTime": request.tick_ms - request.bars * MINUTE_MS, "endTime": request.tick_ms - 1}
    return {"type": "candleSnapshot", "req": {"coin": request.key, "interval": "1m", **span}}


def _candles_weight(request: Request) -> int:
    return 20 + -(-request.bars // 60)


def _bar_history(interval: Interval, top: int, days: int, sample: int) -> History:
    return History(
        "perp_bars",
        interval,
        API,
        "/info",
        "ip",
        lambda piece: {
            "type": "candleSnapshot",
            "req": {
                "coin": piece.key,
                "interval": interval,
                "startTime": piece.begin_ms,
                "endTime": piece.end_ms - 1,
            },
        },
        lambda body: [row["t"] for row in body],
        most=2400,
        order="span",
        days=days,
        # As a bar request of the recorder: 20, and one more per 60 candles.
        weight=lambda piece: 20 + -(-piece.rows // 60),
        method="POST",
        top=top,
        sample=sample,
    )


HYPERLIQUID = Venue(
    name="hyperliquid",
    # 1200 weight a minute per IP; info requests weigh 20, and one more per 60 candles
    # (https://hyperliquid.gitbook.io/hyperliquid-docs/for-developers/api/rate-limits-and-user-limits).
    pools=(Pool("ip", 1190, 60, history=60), Pool("stats", 2, 60), Pool("archive", 300, 60, history=300)),
    endpoints=(
        Endpoint("perp_dexes", API, "/info", "ip", {"type": "perpDexs"}, "POST", every_s=HOUR, weight=20),
        Endpoint(
            "perp_tickers",
            API,
            "/info",
            "ip",
            _contexts,
            "POST",
            weight=20,
            fan_out=FanOut(of=Keys("perp_dexes", _dexes), always=("",)),
        ),
        Endpoint("spot_tickers", API, "/info", "ip", {"type": "spotMetaAndAssetCtxs"}, "POST", weight=20),
        # Core, eleven dexes, spot and the hourly lists take 300 of the 1140; 12 coins a minute take 252, the others
        # come round within the hour (7 a minute, 154). Wallets take 290, settlements 110 every fifth minute.
        Endpoint(
            "perp_bars",
            API,
            "/info",
            "ip",
            _candles,
            "POST",
            weight=_candles_weight,
            bars=Bars(most=120),
            fan_out=FanOut(of=Keys("perp_tickers", _listed), top=12, rest_s=HOUR),
        ),
        # The categories that the builders give their coins: stocks, indices, commodities, crypto, fx, ...
        Endpoint(
            "perp_annotations",
            API,
            "/info",
            "ip",
            {"type": "perpConciseAnnotations"},
            "POST",
            every_s=HOUR,
            weight=20,
        ),
        # The settlements since the last response, after a start those of a day; weighs one more per 20 rows.
        Endpoint(
            "settlements",
            API,
            "/info",
            "ip",
            _settled,
            "POST",
            weight=21,
            every_s=300,
            bars=Bars(usual=180, most=1440, first=1440),
            fan_out=FanOut(of=Keys("perp_tickers", _listed), top=0, rest_s=8 * HOUR),
        ),
        # The file behind the venue's leaderboard page: 46,000 wallets in some 40 MB, of which the largest by account
        # value and by volume are kept. The whole file would be a large part of a day's recording, and wallets of lower
        # rank are not used. The address is undocumented; it is requested once a day.
        Endpoint(
            "leaderboard",
            STATS,
            "/Mainnet/leaderboard",
            "stats",
            every_s=DAY,
            timeout_s=50,
            reduce=partial(BestRows, "leaderboardRows", "ethAddress", (_account_value, _week_volume), 1000),
        ),
        # The positions of 50 wallets in one response, in the order of the request; not documented, but widely used.
        # All of them every five minutes, two batches a minute; on the builders' dexes once an hour.
        Endpoint(
            "wallet_positions",
            API,
            "/info",
            "ip",
            _positions,
            "POST",
            weight=20,
            fan_out=FanOut(of=Keys("leaderboard", _batches), top=0, rest_s=300),
            timeout_s=20,
        ),
        Endpoint(
            "dex_positions",
            API,
            "/info",
            "ip",
            _positions_of_dex,
            "POST",
            weight=20,
            fan_out=FanOut(of=Keys("leaderboard", _batches_of_dexes), top=0, rest_s=HOUR),
            timeout_s=20,
        ),
        # The fills of each tracked wallet since its last request (at most 2000), once in two hours because a page of an
        # active wallet weighs up to 120.
        Endpoint(
            "wallet_fills",
            API,
            "/info",
            "ip",
            _fills,
            "POST",
            weight=40,
            bars=Bars(usual=125, most=1440, first=1440),
            fan_out=FanOut(of=Keys("leaderboard", _wallets), top=0, rest_s=2 * HOUR),
            timeout_s=20,
        ),
    ),
    streams=(
        # Five of the ten users that an address may listen to
        # (https://hyperliquid.gitbook.io/hyperliquid-docs/for-developers/api/rate-limits-and-user-limits). A connection
        # that sent nothing for 60 s is closed by the venue; its replies to our pings count as frames.
        Stream(
            "liquidator_fills",
            API,
            "/ws",
            topics=Keys("perp_dexes", _liquidators),
            subscribe=_subscribe,
            heartbeat='{"method":"ping"}',
            heartbeat_s=30,
            skip=_is_no_fill,
            refused=_refused,
            silence_s=100,
        ),
    ),
    history=(
        # A market of 1,440 bars weighs 44 of the 60 a minute.
        _bar_history("1m", 8, 1, 0),
        _bar_history("1d", 100, 400, 1),
        # Pages of 500, oldest first; one more per 20 rows.
        History(
            "settlements",
            None,
            API,
            "/info",
            "ip",
            lambda piece: {
                "type": "fundingHistory",
                "coin": piece.key,
                "startTime": piece.begin_ms,
                "endTime": piece.end_ms - 1,
            },
            lambda body: [row["time"] for row in body],
            most=500,
            order="oldest",
            days=90,
            weight=45,
            method="POST",
            top=20,
            sample=0,
        ),
        _bar_history("1h", 20, 90, 0),
    ),
    archives=(
        # Contexts of all coins of each minute, a file a day; some days have none. Amazon bills the client for the
        # transfer, about 0.09 USD per GB (https://hyperliquid.gitbook.io/hyperliquid-docs/historical-data).
        Archive(
            "contexts_history",
            "hyperliquid-archive.s3.ap-northeast-1.amazonaws.com",
            lambda _, day: f"/asset_ctxs/{day:%Y%m%d}.csv.lz4",
            re.compile(r"(\d{8})\.csv\.lz4$"),
            "day",
            "archive",
            date(2023, 5, 20),
            0,
            None,
            top=None,
            packing="lz4",
            region="ap-northeast-1",
        ),
    ),
    parallel=8,
)
