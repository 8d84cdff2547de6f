"""Hyperliquid: core perpetuals, builder-deployed dexes (HIP-3), spot, and the largest wallets.

It publishes no liquidations; they show in the fills of those who are liquidated and of the vaults that take over.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from ingest.declaration.endpoint import Ask, Bars, Body, Each, Endpoint, Keys, Pool, Stream, Venue
from ingest.declaration.reduction import BestRows

API, INFO = "api.hyperliquid.xyz", "/info"
STATS = "stats-data.hyperliquid.xyz"
MINUTE_MS, HOUR, DAY = 60_000, 3600, 86_400
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
"""Wallets whose positions are followed: so many of them by account value, the others by what they traded in a week."""
DEXES = ("xyz", "flx", "hyna", "km", "vntl", "cash")
"""Builder-deployed dexes on which the wallets' positions are followed."""


def _dexes(body: Body) -> Iterator[tuple[str, float]]:
    # The first entry is null: the core dex, asked without a name.
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
    return ((address, -float(rank)) for rank, address in enumerate(_tracked(body)))


def _batches(body: Body) -> Iterator[tuple[str, float]]:
    addresses = _tracked(body)
    return ((",".join(addresses[at : at + BATCH]), 0.0) for at in range(0, len(addresses), BATCH))


def _batches_of_dexes(body: Body) -> Iterator[tuple[str, float]]:
    return ((f"{dex}:{some}", 0.0) for dex in DEXES for some, _ in _batches(body))


def _liquidators(_: Body) -> Iterator[tuple[str, float]]:
    return ((address, 0.0) for address in LIQUIDATORS)


def _positions(ask: Ask) -> dict[str, Any]:
    return {"type": "batchClearinghouseStates", "users": ask.key.split(",")}


def _positions_of_dex(ask: Ask) -> dict[str, Any]:
    dex, _, users = ask.key.partition(":")
    return {"type": "batchClearinghouseStates", "dex": dex, "users": users.split(",")}


def _fills(ask: Ask) -> dict[str, Any]:
    return {"type": "userFillsByTime", "user": ask.key, "startTime": ask.tick_ms - ask.bars * MINUTE_MS}


def _settled(ask: Ask) -> dict[str, Any]:
    return {"type": "fundingHistory", "coin": ask.key, "startTime": ask.tick_ms - ask.bars * MINUTE_MS}


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


def _contexts(ask: Ask) -> dict[str, Any]:
    return {"type": "metaAndAssetCtxs", "dex": ask.key} if ask.key else {"type": "metaAndAssetCtxs"}


def _candles(ask: Ask) -> dict[str, Any]:
    span = {"startTime": ask.tick_ms - ask.bars * MINUTE_MS, "endTime": ask.tick_ms - 1}
    return {"type": "candleSnapshot", "req": {"coin": ask.key, "interval": "1m", **span}}


def _candles_weight(ask: Ask) -> int:
    return 20 + -(-ask.bars // 60)


HYPERLIQUID = Venue(
    name="hyperliquid",
    # 1200 weight a minute per IP; info requests weigh 20, and one more per 60 candles
    # (https://hyperliquid.gitbook.io/hyperliquid-docs/for-developers/api/rate-limits-and-user-limits).
    pools=(Pool("ip", 1190, 60, history=60), Pool("stats", 2, 60)),
    endpoints=(
        Endpoint("perp_dexes", API, INFO, "ip", {"type": "perpDexs"}, "POST", every_s=HOUR, weight=20),
        Endpoint(
            "perp_tickers",
            API,
            INFO,
            "ip",
            _contexts,
            "POST",
            weight=20,
            each=Each(of=Keys("perp_dexes", _dexes), always=("",)),
        ),
        Endpoint("spot_tickers", API, INFO, "ip", {"type": "spotMetaAndAssetCtxs"}, "POST", weight=20),
        # Core, eleven dexes, spot and the hourly lists take 300 of the 1140; 12 coins a minute take 252, the others
        # come round within the hour (7 a minute, 154). Wallets take 290, settlements 110 every fifth minute.
        Endpoint(
            "perp_bars",
            API,
            INFO,
            "ip",
            _candles,
            "POST",
            weight=_candles_weight,
            bars=Bars(most=120),
            each=Each(of=Keys("perp_tickers", _listed), top=12, rest_s=HOUR),
        ),
        # What the builders say their coins are: stocks, indices, commodities, crypto, fx, ...
        Endpoint(
            "perp_annotations",
            API,
            INFO,
            "ip",
            {"type": "perpConciseAnnotations"},
            "POST",
            every_s=HOUR,
            weight=20,
        ),
        # What was settled since the last answer, a day of it after a start; one more per 20 rows.
        Endpoint(
            "settlements",
            API,
            INFO,
            "ip",
            _settled,
            "POST",
            weight=21,
            every_s=300,
            bars=Bars(usual=180, most=1440),
            each=Each(of=Keys("perp_tickers", _listed), top=0, rest_s=8 * HOUR),
        ),
        # The file behind the venue's own page: every wallet that ever mattered, some 40 MB for 46,000 rows, of which
        # the greatest by value and by volume are kept. All of it would be much of what a day records, and nothing
        # here ever looks at a wallet of less rank; the address is undocumented and is asked once a day.
        Endpoint(
            "leaderboard",
            STATS,
            "/Mainnet/leaderboard",
            "stats",
            every_s=DAY,
            timeout_s=50,
            reduce=partial(BestRows, "leaderboardRows", "ethAddress", (_account_value, _week_volume), 1000),
        ),
        # The positions of 50 wallets in one answer, in the order of the request; not documented, but what many use.
        # All of them every five minutes, two batches a minute; on the builders' dexes once an hour.
        Endpoint(
            "wallet_positions",
            API,
            INFO,
            "ip",
            _positions,
            "POST",
            weight=20,
            each=Each(of=Keys("leaderboard", _batches), top=0, rest_s=300),
            timeout_s=20,
        ),
        Endpoint(
            "dex_positions",
            API,
            INFO,
            "ip",
            _positions_of_dex,
            "POST",
            weight=20,
            each=Each(of=Keys("leaderboard", _batches_of_dexes), top=0, rest_s=HOUR),
            timeout_s=20,
        ),
        # What each tracked wallet traded since it was asked last (2000 fills at most): once in two hours, because a
        # page of a busy wallet weighs up to 120.
        Endpoint(
            "wallet_fills",
            API,
            INFO,
            "ip",
            _fills,
            "POST",
            weight=40,
            bars=Bars(usual=125, most=1440),
            each=Each(of=Keys("leaderboard", _wallets), top=0, rest_s=2 * HOUR),
            timeout_s=20,
        ),
    ),
    streams=(
        # Five of the ten users that an address may listen to
        # (https://hyperliquid.gitbook.io/hyperliquid-docs/for-developers/api/rate-limits-and-user-limits). A connection
        # that heard nothing for 60 s is closed by the venue; the answers to our pings count as signs of life.
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
    parallel=8,
)
