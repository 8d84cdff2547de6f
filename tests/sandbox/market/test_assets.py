"""The assets of the simulated world: names, ranks and prices that every venue's listings are made of."""

from sandbox.market.assets import COINS_FULL, FIAT, STABLES, assets


def test_coins_come_first_in_order_of_rank_with_bitcoin_the_least_wild() -> None:
    known = list(assets().values())
    coins = [one for one in known if one.kind == "coin"]
    assert known[: len(coins)] == coins
    assert [one.rank for one in coins] == list(range(COINS_FULL))
    assert coins[0].name == "BTC"
    assert coins[0].daily_vol == min(one.daily_vol for one in coins)


def test_an_asset_has_one_name_a_price_and_a_kind_that_moves_as_it_should() -> None:
    known = assets()
    assert {one.kind for one in known.values()} == {"coin", "stock", "fiat", "stable"}
    assert all(name == one.name and name.isalnum() and name == name.upper() for name, one in known.items())
    assert all(one.price > 0 for one in known.values())
    for name in STABLES:
        assert (known[name].kind, known[name].price, known[name].daily_vol) == ("stable", 1.0, 0.0)
    assert all(known[name].kind == "fiat" for name in FIAT)
    # Stocks do not follow bitcoin; every coin does.
    assert {one.beta for one in known.values() if one.kind == "stock"} == {0.0}
    assert all(one.beta > 0 and one.volume_usd > 0 for one in known.values() if one.kind == "coin")


def test_the_largest_trade_most_and_the_invented_ones_least() -> None:
    coins = [one for one in assets().values() if one.kind == "coin"]
    assert coins[0].volume_usd == max(one.volume_usd for one in coins)
    assert min(one.volume_usd for one in coins[:20]) > max(one.volume_usd for one in coins[-200:])
