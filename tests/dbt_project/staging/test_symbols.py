"""One coin, one name: every recorded token of every venue, resolved by the seed `symbols`, against all others' prices.

What looks like another coin or like several coins needs a decision: a row of the seed with its source, or a line here
that says why none is needed. A recording that brings a new doubt fails.
"""

import csv
import math
import re
from collections import defaultdict
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

import ccxt
import pytest

from tests.support.facts.identity_facts import judge, listed
from tests.support.pipeline.dbt_project import PROJECT
from tests.support.pipeline.warehouse import seeded
from tests.support.recordings.named_coins import coin, named, seed
from tests.support.recordings.recorded import read
from tests.support.recordings.recorded_lists import READERS, Market, markets

# How far prices of one coin may be apart: on one day, and while other coins rise and fall against bitcoin.
APART = ((0, 1.25), (120, 10.0), (500, 100.0))
# Won markets part from the others for days: deposits are closed and nobody can bring coins there.
CLOSED, CLOSED_APART = {"upbit", "bithumb"}, 8.0
SEVERAL = re.compile(r"^1(0{2,}|M|K)[A-Z]|[A-Z]10{3,}$|^k[A-Z]")

# Names whose prices parted with time. A row of the seed holds for all times, so none would mend them.
PARTED = {
    "ANC": "Anchor fell with Terra in May 2022",
    "LUNA": "rose a hundredfold in 2021 and fell to nothing in May 2022, when the name went to Terra 2.0",
    "SUN": "redenominated 1:1000 in 2021",
    "BTT": "redenominated 1:1000 in January 2022",
    "PUMP": "Binance's PUMPUSDT was PumpBTC until July 2025, when it was renamed",
    "TON": "Gate's TON of January 2021 was another coin: Toncoin did not trade yet",
}
# Tokens that ccxt renames on a venue, and that mean here what they say.
KEPT = {
    ("mexc", "perp", "FLUX"): "its index is of Binance and Bitget: the coin itself",
    ("mexc", "perp", "GAS"): "its index is of Binance and Bitget: the coin itself",
    ("mexc", "perp", "GMT"): "its index is of Binance and Bitget: the coin itself",
    ("okx", "spot", "AE"): "at the price of Aeternity (2022-03-21)",
    ("binance", "spot", "BCC"): "Bitcoin Cash until 2018, long delisted; ccxt keeps the name too",
}
# Names that hold another token's name and had its price (or a power of ten of it) on a day.
OTHER_COIN = {
    "ATA": "TA by chance", "BRETT": "BR by chance", "AERGO": "AE by chance", "TFUEL": "FUEL by chance",
    "ZKJ": "ZK by chance", "FRONT": "ONT by chance", "EOSC": "SC by chance", "CORE": "CO by chance",
    "KTON": "TON by chance", "GRIN3S": "leveraged", "LRC3L": "leveraged", "SERO3L": "leveraged",
    "EURI": "a token held at 1 EUR", "WBTC": "wrapped bitcoin, traded apart", "RBTC": "Rootstock's, traded apart",
    "METH": "staked ether", "STETH": "staked ether", "BETH": "staked ether", "ETH2": "staked ether",
    "PUMPBTC": "see PUMP above",
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded(recordings: Path) -> list[Market]:
    return list(dict.fromkeys(markets(recordings)))


@pytest.fixture(scope="module")
def priced(recorded: list[Market]) -> list[tuple[Market, float]]:
    """Prices of one token in bitcoins of the same body: comparable whatever the quotes, without a rate of exchange."""
    bitcoins = {
        (market.venue, market.type, market.day, market.quote): market.price
        for market in recorded
        if market.price and named(market)[0] == "BTC"
    }
    found: dict[tuple[str, ...], tuple[Market, float]] = {}
    for market in recorded:
        one = bitcoins.get((market.venue, market.type, market.day, market.quote))
        one = 1.0 if one is None and market.quote == "BTC" else one
        if market.price and one and market.day:
            key = (market.venue, market.type, market.token, market.day)
            found.setdefault(key, (market, market.price / one))
    return list(found.values())


def test_the_recordings_of_all_venues_are_walked(recorded: list[Market], capsys: pytest.CaptureFixture[str]) -> None:
    assert {market.venue for market in recorded} == set(READERS)
    tokens = {(market.venue, market.token) for market in recorded}
    with capsys.disabled():
        print(f"\nrecorded markets: {len({(m.venue, m.type, m.symbol) for m in recorded})}, tokens: {len(tokens)}")
    assert len(tokens) > 5000


def test_a_coin_has_one_price(priced: list[tuple[Market, float]], capsys: pytest.CaptureFixture[str]) -> None:
    """Two coins of one name, and a wrong multiple, both show as prices far apart."""
    coins: dict[str, list[tuple[Market, float]]] = defaultdict(list)
    for market, price in priced:
        base, multiplier = named(market)
        coins[base].append((market, price / multiplier))
    compared, wrong = 0, []
    for base, seen in coins.items():
        for (one, price), (other, second) in combinations(seen, 2):
            if (one.venue, one.type, one.token) == (other.venue, other.type, other.token):
                continue
            days = abs((date.fromisoformat(one.day) - date.fromisoformat(other.day)).days)
            limit = next((limit for most, limit in APART if days <= most), None)
            if limit is None:
                continue
            if CLOSED & {one.venue, other.venue}:
                limit = max(limit, CLOSED_APART)
            compared += 1
            apart = math.exp(abs(math.log(price / second)))
            if apart > limit * max(one.spread, other.spread) and base not in PARTED:
                wrong.append(f"{base}: {apart:.4g} apart: {one} {other}")
    with capsys.disabled():
        print(f"\nprices of one coin compared: {compared}")
    assert compared > 4000
    assert not wrong, "\n".join(wrong)


def test_recorded_days_leave_no_coin_with_two_prices(
    recorded: list[Market], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recorded lists with prices, each day by itself, as they are and with one of a coin's markets at five times
    its price."""
    days: dict[str, dict[str, tuple[str, float, float]]] = {}
    for market in recorded:
        if market.price and market.day and market.quote in ("USDT", "USDC", "USD", "BUSD"):
            base, multiplier = named(market)
            market_id = f"{market.venue}:{market.type}:{market.symbol} {market.day}"
            days.setdefault(f"{base} {market.day}", {})[market_id] = (market.venue, market.price, multiplier)
    several = {name: found for name, found in days.items() if len(found) > 1}
    rows: list[dict[str, Any]] = []
    prices: dict[str, tuple[float, float]] = {}
    moved: set[str] = set()
    for name, found in several.items():
        # Both in one minute: names of their own keep them apart.
        for way in ("as it is", "moved") if len(found) > 2 else ("as it is",):
            for market_id, (_, price, multiplier) in found.items():
                one = f"{market_id} {way}"
                rows.append(listed(one, named_base=f"{name} {way}", multiplier=multiplier))
                prices[one] = (price, 1e6)
        if len(found) > 2:
            moved.add(one)
            prices[one] = (5 * price, 1e6)
    warehouse = seeded(tmp_path)
    judge(warehouse, [0], lambda _: prices, *rows)
    # Only what is not as its name says is kept with its prices.
    parted = {
        market for market, coin in warehouse.rows("select market_id, coin from int_identity where coin <> named_base")
    }
    ratios = {
        name: max(units) / min(units)
        for name, found in several.items()
        if (units := [price / multiplier for _, price, multiplier in found.values()])
    }
    widest = max(ratios, key=lambda name: ratios[name])
    with capsys.disabled():
        print(f"\ncoins with several prices on a day: {len(ratios)}, widest: {widest} {ratios[widest]:.3g}")
    assert len(ratios) > 600
    assert len(moved) > 50
    assert parted == moved


def test_a_name_within_a_name_is_decided(priced: list[tuple[Market, float]]) -> None:
    """A token that holds another's name at its price, or at a power of ten of it, is that coin unless decided."""
    prices: dict[tuple[str, str], dict[str, tuple[float, str]]] = defaultdict(dict)
    for market, price in priced:
        prices[market.token, market.day][market.venue] = (price, named(market)[0])
    tokens = {token for token, _ in prices}
    wrong = set()
    for token, day in prices:
        parts = {token[n:] for n in range(1, len(token) - 1)} | {token[:n] for n in range(2, len(token))}
        for part in parts & tokens:
            for venue, (price, base) in prices[token, day].items():
                for second, other in prices.get((part, day), {}).values():
                    power = round(math.log10(price / second))
                    near = abs(price / second / 10**power - 1) < 0.03
                    if near and 0 <= power <= 8 and base != other and token not in OTHER_COIN:
                        wrong.add(f"{venue} {token} is 1e{power} {part} on {day}")
    assert not wrong, "\n".join(sorted(wrong))


def test_names_that_look_like_several_coins_are_decided(recorded: list[Market]) -> None:
    doubtful = {
        (market.venue, market.token)
        for market in recorded
        if SEVERAL.search(market.token) and named(market) == (market.token, 1.0) and ":" not in market.token
    }
    assert doubtful == set()


def test_names_that_ccxt_changes_on_a_venue_are_decided(recorded: list[Market]) -> None:
    ids = {"coinbase": "coinbaseexchange"}
    wrong = set()
    for venue in READERS:
        renamed = getattr(ccxt, ids.get(venue, venue))().commonCurrencies
        for market in recorded:
            if market.venue == venue and market.token in renamed:
                kept = (venue, market.type, market.token) in KEPT
                if named(market)[0] == market.token and not kept:
                    wrong.add(f"{venue} {market.type} {market.token}: ccxt says {renamed[market.token]}")
    assert not wrong, "\n".join(sorted(wrong))


def test_tokens_that_a_chain_wraps_are_their_coin(recordings: Path) -> None:
    """Hyperliquid's Unit tokens name their coin in full; all that it lists are in the seed."""
    file = recordings / "hyperliquid/info_SpotMetaAndAssetCtxs.sonirico.json.gz"
    kept = next(one["response"] for one in read(file) if one["request"] == {"type": "spotMetaAndAssetCtxs"})
    units = [one["name"] for one in kept[0]["tokens"] if (one["fullName"] or "").startswith("Unit ")]
    unknown = [name for name in units if coin("hyperliquid", "spot", name, name)[0] == name]
    # An index share and a coin of the wrapper's own.
    assert sorted(unknown) == ["AURA", "USPYX"]
    assert len(units) > 8


def test_contracts_that_state_their_coin_agree(recordings: Path) -> None:
    """MEXC's contract list names the coin beside its own token."""
    contracts = read(recordings / "mexc/api_v1_contract_detail_all.2025.json.gz")["data"]
    wrong = []
    for one in contracts:
        stated, _ = coin("mexc", "perp", one["symbol"], one["baseCoinName"])
        found, _ = coin("mexc", "perp", one["symbol"], one["baseCoin"])
        if stated != found:
            wrong.append((one["symbol"], found, stated))
    assert wrong == []


def test_every_decision_is_needed_and_has_its_source(recorded: list[Market]) -> None:
    """No line outlives its reason: what is decided here was recorded, and a row changes the name or the count."""
    assert [row for row in seed() if not row["source"]] == []
    tokens = {(market.venue, market.type, market.token) for market in recorded}
    assert set(KEPT) <= tokens
    assert set(OTHER_COIN) <= {token for *_, token in tokens}
    keys = [(row["venue"], row["symbol_base"], row["market"]) for row in seed()]
    assert len(keys) == len(set(keys))


def structured(venue: str, token: str, tokens: set[tuple[str, str]]) -> bool:
    """As the model `int_listed_markets` joins the seed: a token by name, or a suffix of another one of the venue."""
    with (PROJECT / "seeds/structured_tokens.csv").open() as file:
        rows = list(csv.DictReader(file))
    if token in {row["token"] for row in rows if row["structured"] == "false"}:
        return False
    return any(
        token == row["token"]
        or (row["suffix"] and token.endswith(row["suffix"]) and (venue, token.removesuffix(row["suffix"])) in tokens)
        for row in rows
        if row["venue"] == venue
    )


def test_every_recorded_token_that_looks_structured_is_decided(recorded: list[Market]) -> None:
    """Leveraged tokens of all recorded lists are found; coins whose names only look so are none."""
    tokens = {(market.venue, market.token) for market in recorded}
    looks = {one for one in tokens if re.search(r".(\d[LS]|UP|DOWN|BULL|BEAR)$|^(BULL|BEAR)$", one[1])}
    found = {one for one in looks if structured(*one, tokens)}
    coins = {token for _, token in looks - found}
    assert coins == {"JUP", "SYRUP", "SUP", "TUP", "GUP", "STARTUP"}
    counts = {venue: sum(one[0] == venue for one in found) for venue in sorted({one[0] for one in found})}
    assert counts == {"binance": 50, "bybit": 34, "gate": 156, "kucoin": 4}
