"""The notebooks of docs/: each runs on bulk files of the small replica, and its figures are those of a second route."""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestration.config.settings import REPOSITORY, Settings
from tests.support.replica.bulk_files import bulk_home
from tests.support.replica.replica import AS_OF_MS, DAY

NOTEBOOKS = REPOSITORY / "docs/notebooks"
TABLES = ("series_market_1h", "series_base_5m", "series_base_1d")
TODAY = AS_OF_MS // DAY * DAY
HOUR, FIVE_MINUTES = 3_600_000, 300_000
Run = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home whose bulk files have 130 days of daily rows and 10 of the others."""
    return bulk_home(tmp_path_factory.mktemp("notebooks"), 130, TABLES, finest_days=10)


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a notebook's cells in order, as a kernel does, and gives its names: the cells are plain Python."""

    def cells(name: str) -> dict[str, Any]:
        monkeypatch.setenv("BULK", str(settings.bulk))
        names: dict[str, Any] = {"__name__": "__main__"}
        for number, cell in enumerate(read(NOTEBOOKS / f"{name}.ipynb")["cells"]):
            if cell["cell_type"] == "code":
                with redirect_stdout(StringIO()):
                    exec(compile("".join(cell["source"]), f"{name}[{number}]", "exec"), names)
        return names

    return cells


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def rows(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    """Rows of the edition that the files were written from."""
    [replica] = settings.serving.glob("*.duckdb")
    with duckdb.connect(str(replica), read_only=True) as con:
        return con.execute(sql).fetchall()


@pytest.mark.requirement("bulk:notebooks")
def test_notebooks_are_kept_without_outputs_and_say_what_they_do_not_know() -> None:
    paths = sorted(NOTEBOOKS.glob("*"))
    assert [path.name for path in paths] == ["altcoin_season.ipynb", "funding_carry.ipynb", "liquidations.ipynb"]
    for path in paths:
        content = read(path)
        assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
        title, first, *others = content["cells"]
        for part in ("# ", "**Method.**", "**What it does not know.**"):
            assert part in "".join(title["source"])
        assert 'os.environ.get("BULK"' in "".join(first["source"])
        code = [cell for cell in (first, *others) if cell["cell_type"] == "code"]
        assert [cell["outputs"] for cell in code] == [[]] * len(code)
        assert {cell["execution_count"] for cell in code} == {None}
        assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])


@pytest.mark.requirement("bulk:notebooks")
def test_funding_carry(run: Run, settings: Settings) -> None:
    got = run("funding_carry")
    sql = (
        "select t, base, market_id, funding_8h, oi_usd from series_market_1h "
        f"where type = 'perp' and aggregated and base in ('BTC', 'ETH', 'SOL') and t < {TODAY}"
    )
    rates, times = defaultdict(list), set[int]()
    sums: dict[tuple[str, date], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for t, base, market, rate, oi in rows(settings, sql):
        times.add(t)
        if rate is not None:
            rates[base, market].append(rate)
            day = sums[base, datetime.fromtimestamp(t / 1000, UTC).date()]
            day[0], day[1] = day[0] + rate * oi, day[1] + oi
    span = (max(times) - min(times)) // HOUR + 1
    carry = got["carry"]
    assert set(carry.index) == set(rates)
    assert len(rates) == 6
    for key, known in rates.items():
        assert carry.loc[key, "known"] == pytest.approx(len(known) / span)
        assert carry.loc[key, "carry"] == pytest.approx(math.fsum(known) / 8)
        assert carry.loc[key, "annual"] == pytest.approx(math.fsum(known) / 8 / len(known) * 8760)
        assert carry.loc[key, "positive"] == pytest.approx(sum(rate > 0 for rate in known) / len(known))
    for (base, of_day), (weighed, oi) in sums.items():
        assert got["daily"].loc[of_day, base] == pytest.approx(weighed / oi * 3)


@pytest.mark.requirement("bulk:notebooks")
def test_liquidations(run: Run, settings: Settings) -> None:
    got = run("liquidations")
    sql = (
        "select base, t, price, oi_usd, liq_long_usd::double, liq_short_usd::double from series_base_5m "
        f"where type = 'perp' and base in ('BTC', 'ETH', 'SOL') and t < {TODAY} order by t"
    )
    coins: dict[str, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    for base, t, *values in rows(settings, sql):
        coins[base][t] = tuple(values)
    prices, interest = defaultdict(list), defaultdict(list)
    for buckets in coins.values():
        for column, side in ((2, "long"), (3, "short")):
            some = sorted(bucket[column] for bucket in buckets.values() if bucket[column])
            place = 0.95 * (len(some) - 1)
            low = math.floor(place)
            large = some[low] + (some[min(low + 1, len(some) - 1)] - some[low]) * (place - low)
            last = -HOUR
            for t, bucket in buckets.items():
                if not bucket[column] or bucket[column] < large or t - last < HOUR:
                    continue
                last = t
                before = buckets.get(t - FIVE_MINUTES)
                for offset in (-1, 0, 6, 24):
                    there = buckets.get(t + offset * FIVE_MINUTES)
                    if there and before and there[0] and before[0]:
                        prices[side, offset].append(there[0] / before[0] - 1)
                        interest[side, offset].append(there[1] / before[1] - 1)
    assert {side for side, _ in prices} == {"long", "short"}
    typical = got["typical"]
    for key, changes in prices.items():
        assert typical.loc[key, "price_n"] == len(changes) > 10
        assert typical.loc[key, "price"] == pytest.approx(statistics.median(changes))
        assert typical.loc[key, "oi_usd"] == pytest.approx(statistics.median(interest[key]), abs=1e-9)


@pytest.mark.requirement("bulk:notebooks")
def test_altcoin_season(run: Run, settings: Settings) -> None:
    got = run("altcoin_season")
    prices: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    volumes: dict[tuple[str, int], float] = {}
    for t, base, kind, price, volume in rows(settings, "select t, base, type, price, volume_usd from series_base_1d"):
        if t < TODAY:
            prices[base, t][kind] = price
            if kind == "all" and volume is not None:
                volumes[base, t] = volume

    def close(base: str, t: int) -> float | None:
        known = prices.get((base, t), {})
        spot = known.get("spot")
        return known.get("perp") if spot is None else spot

    values = []
    for n in range(1, 36):
        t = TODAY - n * DAY
        traded = {
            base: [volumes[base, t - back * DAY] for back in range(30) if (base, t - back * DAY) in volumes]
            for base in ("ETH", "PEPE")
        }
        members = [base for base, known in traded.items() if known and close(base, t)]
        gains = {
            base: close(base, t) / before - 1  # type: ignore[operator]
            for base in (*members, "BTC")
            if close(base, t) and (before := close(base, t - 90 * DAY))
        }
        compared = [base for base in members if base in gains and "BTC" in gains]
        row = got["season"].loc[datetime.fromtimestamp(t / 1000, UTC).replace(tzinfo=None)]
        assert (row["members"], row["compared"]) == (len(members), len(compared))
        if compared:
            value = 100 * sum(gains[base] > gains["BTC"] for base in compared) / len(compared)
            assert row["value"] == pytest.approx(value)
            values.append(value)
        else:
            assert math.isnan(row["value"])
    assert len(values) > 30
    assert len(set(values)) > 1


@pytest.mark.requirement("bulk:notebooks")
def test_the_altcoin_season_s_exclusions_are_the_seeds(run: Run) -> None:
    seeds = REPOSITORY / "dbt_project/seeds"
    stable = duckdb.sql(f"select quote from read_csv('{seeds}/quotes.csv') where usd_like::boolean").fetchall()
    others = duckdb.sql(f"select base from read_csv('{seeds}/index_exclusions.csv')").fetchall()
    names = run("altcoin_season")
    assert names["EXCLUDED"] == {name for (name,) in stable + others}
    model = (REPOSITORY / "dbt_project/models/marts/indices/altcoin_season_coins.sql").read_text()
    set_line = next(line for line in model.splitlines() if "volume_days" in line)
    assert f"= 1, {names['MEMBERS']}, 366, {names['WINDOW_DAYS']}, {names['VOLUME_DAYS']}," in set_line
