"""Faults of the simulators: switched on at run time, for one venue only, ended by a count or a time."""

from typing import Any

import aiohttp
import pytest

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import SandboxClient, sandbox

BINANCE, BYBIT = "/fapi.binance.com/fapi/v1/openInterest?symbol=BTCUSDT", "/api.bybit.com/v5/market/kline"
STREAM = "/fstream.binance.com/market/ws/!forceOrder@arr"


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=ANCHOR_MS, universe="small") as one:
        yield one


async def test_a_fault_can_be_confined_to_a_host_and_a_path_and_a_count(client: SandboxClient) -> None:
    await client.switch_on(kind="500", venue="binance", host="api.binance.com")
    await client.switch_on(kind="429", venue="binance", path="/fapi/v1/open", count=2, retry_after=9)
    got = [await client.get(BINANCE) for _ in range(3)]
    assert [one.status for one in got] == [429, 429, 200]
    assert got[0].headers["Retry-After"] == "9"
    assert (await client.get("/fapi.binance.com/fapi/v1/fundingInfo")).status == 200
    assert (await client.get("/api.binance.com/api/v3/ticker/24hr?symbol=BTCUSDT")).status == 500
    shown = (await client.get("/_sandbox/faults")).json["faults"]
    assert [(one["kind"], one["hits"]) for one in shown] == [("500", 1), ("429", 2)]
    assert (await client.delete("/_sandbox/faults")).json == {"removed": 2}


async def test_bans_have_their_status(client: SandboxClient) -> None:
    await client.switch_on(kind="418", venue="binance", retry_after=120)
    got = await client.get(BINANCE)
    assert (got.status, got.headers["Retry-After"]) == (418, "120")


async def test_a_changed_field_is_renamed_removed_or_of_another_type(client: SandboxClient) -> None:
    name = "openInterest"
    for change, key, kind in (({"rename": "held"}, "held", str), ({"as": "number"}, name, float),
                              ({"as": "null"}, name, type(None)), ({"as": "removed"}, None, None)):  # fmt: skip
        identity = await client.switch_on(kind="changed_field", venue="binance", field="openInterest", **change)
        body = (await client.get(BINANCE)).json
        assert set(body) == {"symbol", "time"} | ({key} if key else set())
        if kind is not None:
            assert isinstance(body[key], kind)
        await client.delete(f"/_sandbox/faults?id={identity}")


async def test_a_number_of_one_contract_is_multiplied(client: SandboxClient) -> None:
    path = "/api.gateio.ws/api/v4/futures/usdt/contracts"
    before = {row["name"]: row for row in (await client.get(path)).json}
    where = {"name": "ETH_USDT"}
    await client.switch_on(kind="changed_field", venue="gate", field="quanto_multiplier", times=10, where=where)
    await client.switch_on(kind="changed_field", venue="gate", field="funding_interval", times=2, where=where)
    after = {row["name"]: row for row in (await client.get(path)).json}
    assert {name for name in before if before[name] != after[name]} == {"ETH_USDT"}
    # Text stays text, a number a number.
    changed = {name: after["ETH_USDT"][name] for name in ("quanto_multiplier", "funding_interval")}
    assert changed["quanto_multiplier"] == "0.10"
    assert float(before["ETH_USDT"]["quanto_multiplier"]) * 10 == float(changed["quanto_multiplier"])
    assert changed["funding_interval"] == before["ETH_USDT"]["funding_interval"] * 2


async def test_a_hostile_body_has_a_good_status(client: SandboxClient) -> None:
    true = (await client.get(BINANCE)).text
    forms = {
        "deep": "[" * 100_000 + "]" * 100_000,
        "empty": "",
        "numbers": '{"symbol":"BTCUSDT","openInterest":"1e999","time":1e999}',
        "nulls": '{"symbol":null,"openInterest":null,"time":null}',
        "zeros": r'{"symbol":"\u0000BTCUSDT\u0000","openInterest":"\u0000',
        "bytes": '{"symbol":"BTCUSDT\udcff\udcfe\udcc0","openInterest":"',
    }
    for form, expected in forms.items():
        identity = await client.switch_on(kind="hostile", venue="binance", form=form)
        async with client.session.get(client.url + BINANCE) as response:
            assert response.status == 200
            body = (await response.read()).decode(errors="surrogateescape")
        assert body.startswith(expected)
        assert body != true
        await client.delete(f"/_sandbox/faults?id={identity}")
    await client.switch_on(kind="hostile", venue="binance", form="huge")
    assert len((await client.get(BINANCE)).text) > 64_000_000


async def test_a_ws_drop_cuts_the_stream_and_lets_it_return(client: SandboxClient) -> None:
    ws = await client.session.ws_connect(client.url + STREAM)
    identity = await client.switch_on(kind="ws_drop", venue="binance")
    assert (await ws.receive(timeout=10)).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    await (await client.session.ws_connect(client.url + STREAM)).close()
    assert (await client.get(BINANCE)).status == 200
    await client.delete(f"/_sandbox/faults?id={identity}")
    await client.switch_on(kind="ws_drop", venue="binance", refuse=True)
    with pytest.raises(aiohttp.ClientError):
        await client.session.ws_connect(client.url + STREAM)
