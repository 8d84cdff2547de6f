"""Marks of suspect rows: replaced by each run, of its own checks and period alone."""

from pathlib import Path

from tests.support.pipeline.quality_home import DAY, HOUR, QualityHome


def test_a_mark_is_taken_back_and_nothing_is_marked_twice(clean: QualityHome, tmp_path: Path) -> None:
    home = QualityHome(tmp_path, clean.newest_ms)
    where = f"where market_id = 'okx:perp:SOLUSDT' and t = {home.newest_ms - 600_000}"
    home.change(f"update series_market_1m set price = -price {where}")
    home.check()
    first = home.suspects()
    home.check()
    assert home.suspects() == first != []
    home.change(f"update series_market_1m set price = -price {where}")
    assert home.check() == {}
    assert home.suspects() == []


def test_marks_of_other_periods_and_checks_stay(clean: QualityHome, tmp_path: Path) -> None:
    from orchestration.quality.facts import Span
    from orchestration.quality.suspects import Suspect, mark

    home = QualityHome(tmp_path, clean.newest_ms)
    now = home.newest_ms

    def reported(check: str, start: int, end: int) -> Suspect:
        return Suspect(check, "m", "v", start, end, "1", "2")

    mark(
        home.settings,
        ["a", "b"],
        Span(now - HOUR, now, now),
        [reported("a", now - HOUR, now), reported("b", now - 9, now)],
    )
    later = Span(now - HOUR // 2, now + HOUR // 2, now + HOUR // 2)
    mark(home.settings, ["a"], later, [reported("a", now - HOUR, now + 5)])
    kept = [(row["check"], row["from_ms"] - now, row["to_ms"] - now) for row in home.suspects()]
    assert kept == [("a", -HOUR, -HOUR // 2), ("a", -HOUR // 2, 5), ("b", -9, 0)]
    mark(home.settings, [], Span(now, now, now + 100 * DAY), [])
    assert home.suspects() == []
