"""The running product: what is kept running while nothing lands."""

import os
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.supervise import commands, probes, product
from orchestration.supervise.preflight import lock_home
from orchestration.supervise.supervisor import Command
from tests.support.processes import SLEEPER, python, until, words


def test_a_day_s_history_is_fetched_half_an_hour_after_its_end() -> None:
    day = 86_400
    assert product.until_day_is_fetched_s(20_000 * day) == 1800
    assert product.until_day_is_fetched_s(20_000 * day + 1801) == day - 1
    assert product.until_day_is_fetched_s(20_000 * day + 1800) == day


async def test_the_dbt_server_runs_even_if_nothing_is_landed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "tidemark", lambda _, name, *words: python(name, SLEEPER))
    monkeypatch.setattr(probes, "last_load", lambda *_: None)
    lock = lock_home(tmp_path)
    begun = product.Product(Settings.from_env({"TIDEMARK_HOME": str(tmp_path)}), False, lock)
    async with begun.supervisor:
        begun.start(begun.startup())
        await until(lambda: "up" in words(tmp_path / "logs" / "dbt.log"))
        await begun.end(begun.tasks)
    os.close(lock)


async def test_without_a_recorder_no_exchange_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def command(_: Settings, name: str, *words: str) -> Command:
        begun.append(" ".join(words))
        return python(name, SLEEPER)

    monkeypatch.setattr(commands, "tidemark", command)
    monkeypatch.setattr(probes, "last_load", lambda *_: "1.0")
    lock = lock_home(tmp_path)
    builder = product.Product(Settings.from_env({"TIDEMARK_HOME": str(tmp_path)}), False, lock, record=False)
    async with builder.supervisor:
        builder.start(builder.startup())
        await until(lambda: "build --publish" in begun)
        await builder.end(builder.tasks)
    assert begun == ["serve", "dbt-server", "build --publish"]
    os.close(lock)
