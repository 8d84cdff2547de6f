"""`tidemark storage`: a table of exchanges and endpoints whose shares add up, and the same as JSON."""

import json
from pathlib import Path

import pytest

from orchestration.cli.storage import brief
from tests.support.command import environment, in_this_process
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, settings_for


def test_costs_are_a_table_or_json(tmp_path: Path) -> None:
    env = environment(tmp_path)
    assert in_this_process(env, "storage").exit_code == 1
    land_minutes(settings_for(tmp_path), [T0, T0 + MINUTE, T0 + 2 * MINUTE])
    found = json.loads(in_this_process(env, "storage", "--json").stdout)
    assert found["minutes_measured"] == 2
    assert found["landing_bytes_a_day"] == pytest.approx(sum(one["landed_bytes"] for one in found["endpoints"]), abs=9)
    assert found["landing_bytes_a_year"] == pytest.approx(365 * found["landing_bytes_a_day"], rel=1e-4)
    assert found["bytes"]["landing"] > 0
    lines = in_this_process(env, "storage", "--minutes", "1").stdout.splitlines()
    assert lines[1].endswith("measured on 1 minutes, compacted")
    assert lines[4].split()[:3] == ["binance", "4", "endpoints"]
    assert lines[4].split()[-1] == "100.0%"
    shares = [float(line.split()[-1].rstrip("%")) for line in lines[5:]]
    assert len(shares) == 4
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert in_this_process(env, "storage", "--minutes", "0").exit_code == 2


def test_a_home_in_one_line() -> None:
    assert brief({"landing": 7_100_000_000, "logs": 12, "warehouse": 3_000_000}) == (
        "7.1 GB (landing 7.1 GB, warehouse 3.0 MB)"
    )
    assert brief({"logs": 1200}) == "1 kB"
