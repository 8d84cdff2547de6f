"""What recording costs: answers and text counted by another route, bytes as those of a compacted landing."""

from collections import Counter
from pathlib import Path

import pytest

from orchestration.warehouse.storage import recording_costs
from orchestration.warehouse.writer import PipelineError
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, minute_rows, settings_for


def test_a_day_costs_what_its_minutes_do(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with pytest.raises(PipelineError, match="nothing was landed in"):
        recording_costs(settings)
    land_minutes(settings, [T0])
    with pytest.raises(PipelineError, match="one minute is recorded so far"):
        recording_costs(settings)
    land_minutes(settings, [T0 + minute * MINUTE for minute in range(1, 6)])
    # The newest is left out, because it may still be landing; of the five before it, three are asked for.
    measured, costs = recording_costs(settings, 3)
    assert measured == 3
    answers, text = Counter[str](), Counter[str]()
    for minute in (2, 3, 4):
        for row in minute_rows(T0 + minute * MINUTE):
            answers[row.endpoint] += 1
            text[row.endpoint] += len((row.body or "").encode())
    assert {cost.endpoint: cost.answers for cost in costs} == {name: n * 480 for name, n in answers.items()}
    assert {cost.endpoint: cost.text_bytes for cost in costs} == {name: n * 480 for name, n in text.items()}
    assert {cost.venue for cost in costs} == {"binance"}
    sizes = [cost.landed_bytes for cost in costs]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > 0
    assert recording_costs(settings)[0] == 5
    assert not list(tmp_path.glob("tmp*"))
