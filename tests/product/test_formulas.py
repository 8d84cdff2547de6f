"""What the API returns equals a plain recomputation from the 1-minute facts, through dbt, publish and HTTP."""

import csv
import io
import math
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tests.support.facts.live_facts import publish_warehouse
from tests.support.facts.mart_facts import MINUTE, T0
from tests.support.facts.series_facts import DAYS, MARKETS, MINUTES, Facts, Selected, build_warehouse, make_facts
from tests.support.pipeline.dbt_project import served
from tests.support.replica.replica import CATALOG
from tests.support.servers.api_server import Api, free_port, running

DAY = 1440 * MINUTE
AS_OF = T0 + MINUTES * MINUTE - 7_000


@cache
def widths() -> dict[str, int]:
    """Minutes of each step."""
    return {tier.step: tier.step_ms // MINUTE for tier in served().tiers}


@pytest.fixture(scope="module")
def facts() -> Facts:
    return make_facts(4)


@pytest.fixture(scope="module")
def api(facts: Facts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("formulas")
    publish_warehouse(build_warehouse(folder, facts).path, folder / "serving", AS_OF)
    with running(folder / "serving", free_port()) as api:
        yield api


def selected(metric: str, asked: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """The markets that a request means, and whether it is a single one."""
    if market_id := asked.get("market"):
        return [market for market in MARKETS if market["market_id"] == market_id], True
    types = ("perp",) if metric == "basis" else ("perp", "spot") if metric == "spot-perp-volume" else None
    kind = asked.get("type", "perp")
    wanted = types or (("perp", "spot") if kind == "all" else (kind,))
    venues = [asked["venue"]] if "venue" in asked else CATALOG[metric].get("venues")
    return [
        market
        for market in MARKETS
        if market["aggregated"]
        and market["type"] in wanted
        and asked.get("base", market["base"]) == market["base"]
        and (venues is None or market["venue"] in venues)
    ], False


def expected(facts: Facts, metric: str, asked: dict[str, Any], got: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rows (t, fields…) of the range that the response says it covers, at the step that it says."""
    width = got["step"] // MINUTE
    markets, single = selected(metric, asked)
    rows, running_sum = [], 0.0
    for t in range(got["start"], got["end"], got["step"]):
        first = (t - T0) // MINUTE
        low = max(first, 0)
        kind = asked.get("kind", "accounts")
        values = Selected(facts, markets, single, low, max(first + width - low, 0), kind).value(metric)
        if all(value is None for value in values.values()):
            continue
        if metric == "cvd":
            running_sum += values["net"] or 0.0
            values["v"] = running_sum
        rows.append((t, *(values[name] for name in got["fields"])))
    return rows


def question(seed: int) -> tuple[str, dict[str, Any]]:
    """A metric, a selector it takes, and a range of any length that may reach beyond what is recorded."""
    random = Random(seed)
    metric = random.choice(sorted(CATALOG))
    definition = CATALOG[metric]
    asked: dict[str, Any] = {}
    if "market" in definition["selectors"] and ("base" not in definition["selectors"] or random.random() < 0.4):
        types = definition["types"] or ["perp"]
        asked["market"] = random.choice([market["market_id"] for market in MARKETS if market["type"] in types])
    elif "base" in definition["selectors"]:
        asked["base"] = random.choice("AAB")
        asked |= random.choice([{}, {"venue": "binance"}, {"venue": "bybit"}, {"venue": "okx"}])
        asked |= random.choice([{}, *({"type": kind} for kind in definition["types"])])
    if kinds := definition.get("kinds"):
        asked |= random.choice([{}, *({"kind": kind} for kind in kinds)])
    step = random.choice(["auto", *list(widths())[:-1]])
    length = random.randint(1, 400 * widths().get(step, random.choice([1, 60])) * MINUTE)
    start = random.randint(T0 - length, AS_OF)
    return metric, {**asked, "step": step, "start": start, "end": start + length}


# Uniformly random, because the generator's own numbers crowd at the bounds; the seed is what it gives back.
questions = st.integers(0, 2**32).map(question)


def same(one: float | None, other: float | None) -> bool:
    return one == other or (
        one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    )


def equal(some: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> bool:
    """Each format is a query of its own, and threads add in any order: sums differ in their last bits."""
    return len(some) == len(others) and all(
        one[0] == other[0] and all(same(a, b) for a, b in zip(one[1:], other[1:], strict=True))
        for one, other in zip(some, others, strict=True)
    )


@pytest.mark.requirement("series:recomputed", "series:values", "series:null", "series:formats", "series:csv")
@settings(max_examples=120, deadline=None)
@given(asking=questions)
def test_any_series_equals_its_recomputation(api: Api, facts: Facts, asking: tuple[str, dict[str, Any]]) -> None:
    metric, asked = asking
    url = f"/api/series/{metric}?" + "&".join(f"{name}={value}" for name, value in asked.items())
    answer = api.get(url)
    if answer.status == 400:
        assert "is recorded on" in answer.error, url
        venue = asked.get("venue") or asked["market"].partition(":")[0]
        ever = [
            Selected(facts, [market], True, 0, MINUTES, asked.get("kind", "accounts")).value(metric)
            for market in MARKETS
            if market["venue"] == venue
        ]
        assert all(value is None for values in ever for value in values.values()), url
        return
    got = answer.json
    assert got["metric"] == metric
    assert got["step"] >= widths().get(asked["step"], 1) * MINUTE
    found = list(zip(got["t"], *(got[name] for name in got["fields"]), strict=True))
    wanted = expected(facts, metric, asked, got)
    assert [row[0] for row in found] == [row[0] for row in wanted]
    assert equal(found, wanted), (url, found, wanted)
    assert equal(sheet(api.get(f"{url}&format=csv").body), found)
    for shape, read in (("parquet", parquet_table), ("arrow", arrow_table)):
        table = read(api.get(f"{url}&format={shape}").body)
        assert table.column_names == ["t", *got["fields"]]
        assert equal(list(zip(*(column.to_pylist() for column in table.columns), strict=True)), found)
        about = orjson.loads(table.schema.metadata[b"tidemark"])
        assert about == {name: value for name, value in got.items() if name not in ("t", *got["fields"])}


def sheet(body: bytes) -> list[tuple[Any, ...]]:
    rows = list(csv.reader(io.StringIO(body.decode())))[2:]
    return [(int(row[1]), *(float(cell) if cell else None for cell in row[2:])) for row in rows]


def parquet_table(body: bytes) -> pa.Table:
    return parquet.read_table(io.BytesIO(body))


def arrow_table(body: bytes) -> pa.Table:
    return pa.ipc.open_stream(body).read_all()


@pytest.mark.requirement("series:ten-years")
@pytest.mark.parametrize("selector", ["base=A", "base=A&venue=binance", "market=binance:perp:AUSDT"])
def test_ten_years_without_a_key_have_a_step_of_three_days(api: Api, facts: Facts, selector: str) -> None:
    asked = dict(part.split("=") for part in selector.split("&"))
    got = api.series("funding", **asked, range="10y")
    assert got["step"] == 3 * DAY
    assert len(range(got["start"], got["end"], got["step"])) < 1500
    found = list(zip(got["t"], got["v"], strict=True))
    wanted = expected(facts, "funding", asked, {**got, "start": T0 // (3 * DAY) * 3 * DAY})
    assert len(found) == len(wanted) >= DAYS // 3
    assert all(a[0] == b[0] and same(a[1], b[1]) for a, b in zip(found, wanted, strict=True))


@pytest.mark.requirement("series:cvd")
def test_cvd_runs_from_the_start_of_the_range(api: Api) -> None:
    for start in (T0 + 2 * DAY, T0 + 3 * DAY):
        got = api.series("cvd", market="binance:perp:AUSDT", start=start, end=start + DAY, step="1h")
        sums = [sum(got["net"][: n + 1]) for n in range(len(got["net"]))]
        assert got["v"] == pytest.approx(sums)
        assert got["v"][0] == got["net"][0]


@pytest.mark.requirement("series:all-coins", "series:type:fixed", "series:kind", "series:alias")
def test_allowed_parameters_follow_from_the_metric_definition(api: Api) -> None:
    def error(path: str) -> str:
        answer = api.get(f"/api/series/{path}")
        assert answer.status == 400, answer
        return answer.error

    whole = api.series("spot-perp-volume", range="6h")
    assert (whole["base"], whole["market"], whole["venue"], whole["type"]) == (None, None, None, "all")
    for name, value in (("base", "A"), ("market", "binance:perp:AUSDT"), ("venue", "binance"), ("type", "perp")):
        assert "leave it out" in error(f"spot-perp-volume?{name}={value}") or name in error(
            f"spot-perp-volume?{name}={value}"
        )
    assert "leave it out" in error("basis?base=A&type=perp")
    assert "perp markets only" in error("basis?market=binance:spot:AUSDT")
    assert "kind" in error("price?base=A&kind=accounts")
    assert "use one of" in error("price?base=A&kind=whales")
    for name, definition in CATALOG.items():
        for alias in definition["aliases"]:
            selectors = {"all": "", "base": "base=A&", "market": "market=binance:perp:AUSDT&"}
            selector = selectors[definition["selectors"][0]]
            answer = api.get(f"/api/series/{alias}?{selector}range=3h")
            assert (answer.status, answer.json["metric"]) == (200, name)
