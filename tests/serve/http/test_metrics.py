"""The counters of a worker as text; the whole way over HTTP is in tests/serve/test_operated.py."""

from pathlib import Path

import pytest

from serve.http.metrics import Metrics, States
from tests.support.servers.scrape import samples


@pytest.mark.requirement("operated:metrics")
def test_counts_states_and_the_files_of_other_processes_are_one_text(tmp_path: Path) -> None:
    (tmp_path / "a.prom").write_text("# TYPE other counter\nother_total 3.0\n")
    (tmp_path / "gone.prom").symlink_to(tmp_path / "nowhere")
    metrics = Metrics(tmp_path)
    metrics.count("/x", 200, 0.3)
    metrics.count("/x", 200, None)
    states: States = {
        ("alone", "One value."): {"": 4.0},
        ("by_venue", "Some."): {"a": 1.0, "b": None},
        ("nothing", "None."): {"": None},
    }
    found = samples(metrics.text(states).decode())
    named = (("endpoint", "/x"),)
    assert found["tidemark_http_requests_total", (*named, ("status", "200"))] == 2
    assert found["tidemark_http_request_seconds_count", named] == 1
    assert found["tidemark_http_request_seconds_bucket", (*named, ("le", "0.25"))] == 0
    assert found["tidemark_http_request_seconds_bucket", (*named, ("le", "0.5"))] == 1
    assert found["tidemark_alone", ()] == 4
    assert found["tidemark_by_venue", (("venue", "a"),)] == 1
    assert ("tidemark_by_venue", (("venue", "b"),)) not in found, "unknown is not zero"
    assert ("tidemark_nothing", ()) not in found
    assert found["other_total", ()] == 3
