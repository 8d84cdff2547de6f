"""GET /api/kimchi-premium/history and /api/coinbase-premium/history: values, steps, bad requests."""

import pytest

from tests.support.replica.replica import AS_OF_MS, LAST
from tests.support.replica.replica_snapshots import DAY, HOUR
from tests.support.servers.api_server import Api

KIMCHI, COINBASE = "/api/kimchi-premium/history?base=BTC", "/api/coinbase-premium/history?base=BTC"


def hours(n: int) -> list[int]:
    """The hours of the replica's premiums from n before the newest, oldest first: every seventh is unknown."""
    newest = LAST - LAST % HOUR
    return [t for t in range(newest - n * HOUR, newest + 1, HOUR) if (t // HOUR) % 7]


@pytest.mark.requirement("kimchi:shape", "kimchi:values")
def test_kimchi_premium(api: Api) -> None:
    answer = api.get(KIMCHI.replace("BTC", "btc"))
    content = answer.json
    assert int(answer.headers["x-ratelimit-limit"]) == 30
    assert [content[name] for name in ("metric", "base", "step", "unit", "fields", "end")] == [
        "kimchi-premium", "BTC", HOUR, "percent", ["upbit", "bithumb"], AS_OF_MS,
    ]  # fmt: skip
    newest = LAST - LAST % HOUR
    assert content["t"] == hours(720)
    assert content["upbit"] == pytest.approx([1 + (newest - t) / HOUR / 1000 for t in content["t"]])
    recent = [t >= newest - 2 * HOUR for t in content["t"]]
    assert [value is not None for value in content["bithumb"]] == recent
    assert content["upbit_usdt"] == [2.0] * len(recent)
    assert content["bithumb_usdt"] == [None] * len(recent)
    assert content["source"].endswith(f"1400 won a dollar by bank, {7200 + (AS_OF_MS - LAST) // 1000} s old")
    assert {gap["venue"] for gap in content["gaps"]} == {None}


@pytest.mark.requirement("kimchi:step")
@pytest.mark.parametrize(
    ("length", "step"),
    [("90d", HOUR), ("91d", 4 * HOUR), ("366d", 4 * HOUR), ("2y", DAY), ("6y", DAY), ("10y", 2 * DAY)],
)
@pytest.mark.parametrize("path", [KIMCHI, COINBASE])
def test_longer_ranges_have_coarser_means(api: Api, path: str, length: str, step: int) -> None:
    content = api.get(f"{path}&range={length}").json
    assert content["step"] == step
    assert (content["end"] - content["start"]) / step <= 2200
    assert content["start"] % step == 0
    name = content["fields"][0]
    newest = LAST - LAST % HOUR
    values = {t: 1 + (newest - t) / HOUR / 1000 for t in hours(9999) if t >= content["start"]}
    buckets: dict[int, list[float]] = {}
    for t, value in values.items():
        buckets.setdefault(t - t % step, []).append(value)
    assert content["t"] == sorted(buckets)
    assert content[name] == pytest.approx([sum(of) / len(of) for _, of in sorted(buckets.items())])


@pytest.mark.requirement("kimchi:bad")
def test_bad_premium_requests(api: Api) -> None:
    assert "use one of BTC, ETH, PEPE, SOL, XRP" in api.get("/api/kimchi-premium/history?base=DOGE").error
    assert api.get("/api/kimchi-premium/history?base=xrp&range=1h").json["base"] == "XRP"
    assert "use one of BTC, ETH" in api.get("/api/coinbase-premium/history?base=PEPE").error
    for path in (KIMCHI, COINBASE):
        assert "at most 10y" in api.get(f"{path}&range=11y").error
        for wrong in (path.partition("?")[0], f"{path}&range=0d", f"{path}&start=1"):
            answer = api.get(wrong)
            assert answer.status == 400, wrong


@pytest.mark.requirement("coinbase:shape")
def test_coinbase_premium(api: Api) -> None:
    content = api.get(COINBASE).json
    assert (content["fields"], content["unit"]) == (["premium", "gap"], "percent, USD")
    assert content["t"] == hours(720)
    assert content["gap"] == pytest.approx([(LAST - LAST % HOUR - t) / HOUR for t in content["t"]])
    assert set(content["usdt_usd"]) == {1400.0}
