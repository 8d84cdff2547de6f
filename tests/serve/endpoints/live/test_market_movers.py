"""GET /api/market-movers: its sections on a small replica, and the same sections without one."""

from pathlib import Path

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.described import as_described

SECTIONS = {"price", "oi", "long_short", "funding", "liquidations"}


@pytest.mark.requirement("movers:values")
def test_sections_have_rows_or_a_reason(api: Api) -> None:
    got = as_described(api, "/api/market-movers")
    assert (got["as_of"], set(got["sections"])) == (AS_OF_MS, SECTIONS)
    for name, section in got["sections"].items():
        assert bool(section["up"]) == (section["unavailable"] is None), name
        assert all(api.get(row["coin_url"]).status == 200 for row in section["up"])
    assert got["sections"]["liquidations"]["down"] is None
    assert got["sections"]["funding"]["unavailable"] == "not observed"


@pytest.mark.requirement("movers:always")
def test_without_a_replica_every_section_says_why(api: Api, tmp_path: Path) -> None:
    (tmp_path / "serving").mkdir()
    with running(tmp_path / "serving", free_port()) as empty:
        got = as_described(empty, "/api/market-movers")
    there = api.get("/api/market-movers").json["sections"]
    assert {name: section["unit"] for name, section in got["sections"].items()} == {
        name: section["unit"] for name, section in there.items()
    }
    for section in got["sections"].values():
        assert (section["up"], section["down"]) == ([], None)
        assert section["unavailable"]
