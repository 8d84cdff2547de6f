"""Replay: recorded responses served at the venues' paths, chosen by parameters and body, and clear errors."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.http.replay import ReplayError, load_replay
from tests.support.servers.sandbox_client import sandbox

FRAME = {"e": "forceOrder", "E": 1, "o": {"s": "BTCUSDT"}}


def folder(path: Path, entries: Any) -> Path:
    (path / "all.json.gz").write_bytes(gzip.compress(b'[{"symbol":"BTCUSDT"}]'))
    (path / "damaged.json.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 20)
    (path / "binary").write_bytes(b"\xff")
    (path / "core.json").write_text('["core"]')
    (path / "frames.ndjson").write_text(json.dumps(FRAME) + "\n" + json.dumps({**FRAME, "E": 2}) + "\n")
    pushes = [{"topic": f"allLiquidation.{symbol}", "data": []} for symbol in ("BTCUSDT", "ETHUSDT")]
    (path / "pushes.ndjson").write_text("\n".join(map(json.dumps, pushes)))
    (path / "replay.json").write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return path


ENTRIES: list[dict[str, Any]] = [
    {"venue": "binance", "path": "/fapi/v1/premiumIndex", "file": "all.json.gz"},
    {"venue": "binance", "path": "/fapi/v1/openInterest", "params": {"symbol": "BTCUSDT"}, "text": "1"},
    {"venue": "binance", "path": "/fapi/v1/openInterest", "params": {"symbol": "BTCUSDT"}, "text": "2"},
    {"venue": "binance", "path": "/fapi/v1/openInterest", "text": "any", "status": 400, "headers": {"Retry-After": 7}},
    {"venue": "hyperliquid", "method": "post", "path": "/info", "body": {"type": "metaAndAssetCtxs"},
     "file": "core.json"},
    {"venue": "hyperliquid", "method": "POST", "path": "/info", "body": {"type": "metaAndAssetCtxs", "dex": "xyz"},
     "text": '["xyz"]'},
    {"venue": "bybit", "path": "/same", "text": "b"},
    {"venue": "hyperliquid", "path": "/same", "text": "h"},
    {"venue": "binance", "path": "/market/ws/!forceOrder@arr", "frames": "frames.ndjson", "rate": 100},
    {"venue": "bybit", "path": "/v5/public/linear", "frames": "pushes.ndjson", "rate": 100},
]  # fmt: skip


@pytest.mark.parametrize("wrapped", [False, True])
async def test_the_most_specific_recording_is_returned(tmp_path: Path, wrapped: bool) -> None:
    entries: Any = {"responses": ENTRIES} if wrapped else ENTRIES
    async with sandbox(mode="replay", replay_dir=folder(tmp_path, entries)) as client:
        got = await client.get("/fapi.binance.com/fapi/v1/premiumIndex", symbol="ignored")
        assert (got.status, got.text) == (200, '[{"symbol":"BTCUSDT"}]')
        turns = [(await client.get("/fapi.binance.com/fapi/v1/openInterest", symbol="BTCUSDT", x=1)).text
                 for _ in range(3)]  # fmt: skip
        assert turns == ["1", "2", "2"]
        got = await client.get("/fapi/v1/openInterest", symbol="ETHUSDT")
        assert (got.status, got.text, got.headers["Retry-After"]) == (400, "any", "7")
        assert (await client.info({"type": "metaAndAssetCtxs"})).text == '["core"]'
        assert (await client.info({"type": "metaAndAssetCtxs", "dex": "xyz"})).text == '["xyz"]'
        assert (await client.get("/api.bybit.com/same")).text == "b"
        assert (await client.get("/api.hyperliquid.xyz/same")).text == "h"


async def test_an_unrecorded_request_is_a_404_that_lists_the_recordings(tmp_path: Path) -> None:
    async with sandbox(mode="replay", replay_dir=folder(tmp_path, ENTRIES)) as client:
        for path in ("/api.bybit.com/v5/market/tickers", "/same"):
            got = await client.get(path, category="linear")
            assert got.status == 404
            assert got.json["asked"]["params"] == {"category": "linear"}
            assert "binance GET /fapi/v1/premiumIndex" in got.json["available"]
        assert (await client.info({"type": "other"})).json["asked"]["body"] == {"type": "other"}
        assert (await client.get("/_sandbox/truth")).status == 404


async def test_faults_apply_to_recordings_too(tmp_path: Path) -> None:
    async with sandbox(mode="replay", replay_dir=folder(tmp_path, ENTRIES)) as client:
        await client.post("/_sandbox/faults", {"kind": "500", "venue": "binance", "count": 1})
        assert (await client.get("/fapi.binance.com/fapi/v1/premiumIndex")).status == 500
        assert (await client.get("/fapi.binance.com/fapi/v1/premiumIndex")).status == 200


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("{", ["is not JSON"]),
        ({"other": []}, ['"responses"']),
        ({}, ['"responses"']),
        ({"responses": 5}, ['"responses"']),
        ([], ["not empty"]),
        ({"responses": []}, ["not empty"]),
        ([7], ["entry 0", "not an object"]),
        ([{"path": "/x", "text": ""}], ["entry 0", "venue is missing"]),
        ([{"venue": "a", "path": "/x", "text": ""}, {"venue": "a", "path": "x", "text": ""}], ["entry 1", "slash"]),
        ([{"venue": "a", "path": "/x"}], ["entry 0", "either file or text"]),
        ([{"venue": "a", "path": "/x", "file": "no.json"}], ["entry 0", "no.json", "cannot be read"]),
        ([{"venue": "a", "path": "/x", "file": "damaged.json.gz"}], ["entry 0", "damaged.json.gz", "cannot be read"]),
        (
            [{"venue": "a", "path": "/x", "frames": "all.json.gz"}, {"venue": "a", "path": "/x", "frames": "binary"}],
            ["entry 1", "binary", "UTF-8"],
        ),
        ([{"venue": "a", "path": "/x", "file": "../secret"}], ["entry 0", "outside"]),
        ([{"venue": "a", "path": "/x", "text": "", "status": "ok"}], ["entry 0", "status", "wrong type"]),
        ([{"venue": "a", "path": "/x", "text": "", "parms": {}}], ["entry 0", "unknown field 'parms'"]),
        ([{"venue": "a", "path": "/x", "frames": "frames.ndjson", "rate": 0}], ["entry 0", "rate"]),
    ],
)
def test_a_malformed_replay_is_one_clear_sentence(tmp_path: Path, entries: Any, words: list[str]) -> None:
    with pytest.raises(ReplayError) as error:
        load_replay(folder(tmp_path, entries))
    assert all(word in str(error.value) for word in words), error.value
    assert "\n" not in str(error.value)


def test_a_missing_folder_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="cannot be read"):
        load_replay(tmp_path / "nowhere")
