"""What the OpenAPI description says, held against the running server by schemathesis: examples, bounds and fuzzing."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from serve.http.keys import create_key
from tests.support.replica.replica import publish
from tests.support.servers.api_server import ROOT, free_port, running, until

# Relations between parameters (exactly one of base and market, a range that is not too long, a coin that is tracked)
# cannot be said in OpenAPI: what its schemas allow may still be a 400 or a 404.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["200", "400", "404"]
"""
# Rows that the small replica lacks: without them some endpoints return 503, which they never do on a full replica.
FILLED = """
insert into option_coins select * replace ('ETH' as coin) from option_coins;
insert into option_expiries select * replace ('ETH' as coin) from option_expiries;
delete from spike_stats where lookback = '7d';
insert into spike_stats select * replace ('7d' as lookback) from spike_stats where lookback = '30d';
insert into spike_stats select * replace ('ETH' as base) from spike_stats where base = 'BTC';
"""
HOOKS = """
import schemathesis
from tests.support.servers.api_server import some_address

@schemathesis.hook
def before_call(context, case, kwargs):
    # Budgets are by address: each request has its own.
    case.headers = {**(case.headers or {}), "X-Forwarded-For": some_address()}

@schemathesis.hook
def map_query(context, query):
    # Random words are hardly ever a tracked coin: half of the requests ask for one, so that answers are held against
    # the schemas too.
    if query and "base" in query and len(str(query)) % 2:
        kept = {name: value for name, value in query.items() if name in ("step", "venue", "type", "format")}
        return {**kept, "base": "BTC"}
    return query
"""


@pytest.mark.requirement("openapi:true")
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    (tmp_path / "hooks_of_this_run.py").write_text(HOOKS)
    with duckdb.connect(str(publish(tmp_path / "serving", 1842))) as con:
        con.execute(FILLED)
    with running(tmp_path / "serving", free_port()) as api:
        _, key = create_key(api.keys, "schemathesis")
        until(lambda: api.get("/api/status", X_API_Key=key).status, lambda status: status == 200)
        url = f"http://127.0.0.1:{api.port}/openapi.json"
        command = [str(Path(sys.executable).parent / "schemathesis"), "run", url, "--seed", "1"]
        done = subprocess.run(
            [
                *command,
                "--max-examples",
                "200",
                "--phases",
                "examples,coverage,fuzzing",
                "--checks",
                "all",
                "--no-color",
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                "SCHEMATHESIS_HOOKS": "hooks_of_this_run",
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
        assert "Traceback" not in api.log.read_text()
