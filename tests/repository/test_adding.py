"""Adding something costs the files that the guide names, and nothing else: a copy of the repository is run with all.

The additions are in tests/support/additions; the table under "Adding things" in docs/contributing.md names the files.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from orchestration.config.settings import REPOSITORY
from tests.repository.test_repository import committed
from tests.support.additions.changes import ADDITIONS
from tests.support.pipeline.shared import VARIABLE
from tests.support.start import HOUR, MINUTE, start_ms

# A path of the API, or the name of a tool.
ASKED = {
    "a venue": "/api/markets",
    "a metric from a column of the series": (
        f"/api/series/toy-oi-coins?base=BTC&step=1m&start={start_ms()}&end={start_ms() + MINUTE}"
    ),
    "an endpoint": "/api/toy-totals",
    "a rollup step": f"/api/series/oi?base=BTC&step=8h&start={start_ms()}&end={start_ms() + MINUTE}",
    "a tool": "toy_perps",
}
PATH = re.compile(r"`([^`]+)`")
# What an addition needs beside what makes it work.
BESIDE = ("docs/", "tests/")


def documented() -> dict[str, list[str]]:
    """What is added → the files that the guide names for it. What stands for a name is in angle brackets."""
    text = (REPOSITORY / "docs/contributing.md").read_text()
    section = text.partition("\n## Adding things\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| a")]
    return {row[0].strip(): PATH.findall(row[1]) for row in rows}


def matches(path: str, named: str) -> bool:
    """Whether the guide's name is that of the path, or of a folder that holds it."""
    pattern = re.sub("<[^>]+>", "[^/]+", named.replace(".", "[.]"))
    return re.fullmatch(pattern + (".+" if named.endswith("/") else ""), path) is not None


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy with all additions answers, by what was added."""
    copy = tmp_path_factory.mktemp("copy")
    for file in committed():
        target = copy / file.relative_to(REPOSITORY)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    for addition in ADDITIONS.values():
        addition.apply(copy)
    home = tmp_path_factory.mktemp("home")
    command = [sys.executable, "-m", "tests.support.additions.run", str(home), *ASKED.values()]
    # What other tests share was read from this repository, not from the copy.
    env = {name: value for name, value in os.environ.items() if name != VARIABLE} | {"PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(zip(["recorded", *ASKED], json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize("what", ADDITIONS)
def test_it_costs_the_files_that_the_guide_names(what: str) -> None:
    named = [path for path in documented()[what] if not path.startswith(BESIDE)]
    touched = [*ADDITIONS[what].new, *ADDITIONS[what].edited]
    assert [path for path in touched if not any(matches(path, one) for one in named)] == [], "more than the guide names"
    assert [one for one in named if not any(matches(path, one) for path in touched)] == [], "less than the guide names"


def test_a_venue_s_number_is_served(answers: dict[str, Any]) -> None:
    [coin] = answers["a venue"]["coins"]
    [perp] = coin["perps"]
    recorded = {name: float(answers["recorded"][name]) for name in ("last", "day", "held")}
    assert (coin["base"], perp["venue"], perp["symbol"], perp["price"]) == ("BTC", "toy", "BTC-PERP", recorded["last"])
    assert perp["vol24h"] == recorded["day"]
    assert perp["oi_usd"] == pytest.approx(recorded["held"] * recorded["last"])


def test_a_metric_s_number_is_served(answers: dict[str, Any]) -> None:
    series = answers["a metric from a column of the series"]
    assert series.get("v") == [pytest.approx(float(answers["recorded"]["held"]))], series


def test_an_endpoint_s_number_is_served(answers: dict[str, Any]) -> None:
    [coin] = answers["a venue"]["coins"]
    assert answers["an endpoint"] == {"n_perps": 1, "oi_usd": coin["perps"][0]["oi_usd"]}


def test_a_step_s_number_is_served(answers: dict[str, Any]) -> None:
    [coin] = answers["a venue"]["coins"]
    series = answers["a rollup step"]
    assert (series["step"], series["t"]) == (8 * HOUR, [start_ms() - start_ms() % (8 * HOUR)])
    assert series["v"] == [pytest.approx(coin["perps"][0]["oi_usd"])]


def test_a_tool_s_number_is_served(answers: dict[str, Any]) -> None:
    assert answers["a tool"]["data"] == {"perps": 1}
