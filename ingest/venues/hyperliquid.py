"""Hyperliquid: core perpetuals, builder-deployed dexes (HIP-3) and spot. It publishes no liquidations."""

from collections.abc import Iterator
from typing import Any

from ingest.endpoint import Ask, Bars, Body, Each, Endpoint, Keys, Pool, Venue

API, INFO = "api.hyperliquid.xyz", "/info"
MINUTE_MS, HOUR = 60_000, 3600


def _dexes(body: Body) -> Iterator[tuple[str, float]]:
    # The first entry is null: the core dex, asked without a name.
    return ((dex["name"], 0.0) for dex in body if dex)


def _listed(body: Body) -> Iterator[tuple[str, float]]:
    # Contexts match the universe by position; delisted coins stay in both.
    meta, contexts = body
    pairs = zip(meta["universe"], contexts, strict=False)
    return ((coin["name"], float(ctx["dayNtlVlm"] or 0)) for coin, ctx in pairs if not coin.get("isDelisted"))


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
    pools=(Pool("ip", 1190, 60, history=60),),
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
        # Core, eleven dexes, spot and the hourly list of dexes take 280 of the 1140; 30 coins a minute take 630, and
        # what is left lets ten others in: about 430 coins come round within the hour.
        Endpoint(
            "perp_bars",
            API,
            INFO,
            "ip",
            _candles,
            "POST",
            weight=_candles_weight,
            bars=Bars(most=120),
            each=Each(of=Keys("perp_tickers", _listed), top=30, rest_s=HOUR),
        ),
    ),
    parallel=8,
)
