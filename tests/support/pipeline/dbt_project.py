"""dbt on the project inside the test process: parsed once, and the warehouse unlocked after each run."""

import gc
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.artifacts.resources.types import NodeType
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.client import SOCKET
from orchestration.warehouse.dbt_runner.lean import make_dbt_lean
from orchestration.warehouse.dbt_runner.process import PARSED, files_now, place_hash
from orchestration.warehouse.served import Served, read_served
from tests.support.pipeline.shared import end_with_run, shared

PROJECT = Path(__file__).parents[3] / "dbt_project"
# Without a logger: each event would be made a line before it is dropped.
SILENT = ("--log-level", "none", "--log-level-file", "none")
OPTIONS = ("--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), *SILENT)
RUN = (*OPTIONS, "--no-write-json")


# A warehouse that no test has.
NOWHERE = "nowhere/warehouse.duckdb"


@cache
def _parsed() -> tuple[Manifest, dict[str, bytes]]:
    """The project as dbt reads it: in memory, and the files that it leaves. From those the next worker has it soon."""
    make_dbt_lean()
    with shared("parsed") as folder, _warehouse(NOWHERE):
        (folder / PARSED[-1]).write_text(files_now())
        parsed = dbtRunner().invoke(["parse", *OPTIONS, "--target-path", str(folder), "--log-path", str(folder)])
        assert isinstance(parsed.result, Manifest), parsed.exception
        # It lives as long as the process: no collection need look at it again.
        gc.collect()
        gc.freeze()
        return parsed.result, {name: (folder / name).read_bytes() for name in PARSED}


def manifest() -> Manifest:
    """The parsed project. It does not depend on the location of the warehouse."""
    return _parsed()[0]


@cache
def _models() -> dict[str, dict[str, Any]]:
    """Of each model what says how it is served: the manifest without its SQL, a small part of it."""
    wanted = ("resource_type", "name", "fqn", "config", "columns", "depends_on", "description")
    nodes = json.loads(_parsed()[1][PARSED[0]])["nodes"].values()
    models = {node["name"]: {field: node[field] for field in wanted} for node in nodes if "columns" in node}
    columns: dict[str, dict[str, Any]] = {
        name: {column: {"description": said["description"]} for column, said in node["columns"].items()}
        for name, node in models.items()
    }
    return {name: node | {"columns": columns[name], "raw_code": ""} for name, node in models.items()}


def write_manifest(path: Path, metrics: Mapping[str, Mapping[str, Any]], models: Collection[str] | None = None) -> None:
    """A manifest with these definitions under the API's names, and what the project's models say of what is served:
    all of them, or these."""
    definitions = {
        name: {"label": one.get("title", name), "description": "", "config": {"meta": {"api_name": name, **one}}}
        for name, one in metrics.items()
    }
    nodes = {name: node for name, node in _models().items() if models is None or name in models}
    path.write_text(
        json.dumps({"metrics": definitions, "nodes": nodes, "sources": {}, "unit_tests": {}, "exposures": {}})
    )


@cache
def served() -> Served:
    """The served tables by the models' `meta`."""
    with TemporaryDirectory() as folder:
        manifest = Path(folder, PARSED[0])
        manifest.write_bytes(_parsed()[1][PARSED[0]])
        return read_served(manifest)


def give_dbt(settings: Settings) -> None:
    """A home whose project is read, and whose builds find a dbt that is ready, as those of the running product do."""
    give_parsed(settings)
    (settings.dbt_target.parent / SOCKET).unlink(missing_ok=True)
    (settings.dbt_target.parent / SOCKET).symlink_to(_ready())


@cache
def _ready() -> Path:
    """The socket of the run's own dbt server, which serves every warehouse and ends with the run."""
    with shared("dbt_server") as home:
        settings = Settings.from_env({"TIDEMARK_HOME": str(home)})
        place, log = settings.dbt_target.parent / SOCKET, home / "dbt.log"
        if place.exists():
            return place
        give_parsed(settings)
        with log.open("w") as output:
            command = [sys.executable, "-m", "orchestration.cli", "dbt-server"]
            process = subprocess.Popen(command, env=os.environ | settings.environ(), stdout=output, stderr=output)
        end_with_run(process)
        deadline = time.monotonic() + 120
        while not place.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        return place


def give_parsed(settings: Settings) -> None:
    """Copy the parsed project into a home: parsing takes long and gives the same result everywhere.

    dbt stores a hash of the warehouse's location, and parses again if it differs.
    """
    settings.dbt_target.mkdir(parents=True, exist_ok=True)
    old, new = (place_hash(place).encode() for place in (NOWHERE, settings.warehouse))
    for name, content in _parsed()[1].items():
        (settings.dbt_target / name).write_bytes(content.replace(old, new))


@contextmanager
def _warehouse(path: str) -> Iterator[None]:
    """The warehouse of the dbt runs inside, whose lock is given back at the end."""
    before = os.environ.get("TIDEMARK_WAREHOUSE")
    os.environ["TIDEMARK_WAREHOUSE"] = path
    try:
        yield
    finally:
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
        if before is None:
            del os.environ["TIDEMARK_WAREHOUSE"]
        else:
            os.environ["TIDEMARK_WAREHOUSE"] = before


def run_dbt(warehouse: Path, *arguments: str, check: bool = True) -> Counter[str]:
    """Run dbt on a warehouse: how many of its nodes, hooks left out, ended in which status. What failed is in the
    error."""
    folder = warehouse.parent
    paths = ("--target-path", str(folder / "target"), "--log-path", str(folder / "logs"))
    with _warehouse(str(warehouse)):
        outcome = dbtRunner(manifest=manifest()).invoke([*arguments, *RUN, *paths])
    results = [(str(result.status), result.node.name, result.message) for result in outcome.result or []]  # type: ignore[union-attr]
    if check and not outcome.success:
        failed = [f"{name}: {message}" for status, name, message in results if status in ("error", "fail")]
        raise AssertionError(f"dbt {' '.join(arguments)} failed: {failed or outcome.exception}")
    hooks = {node.name for node in manifest().nodes.values() if node.resource_type == NodeType.Operation}
    return Counter(status for status, name, _ in results if name not in hooks)


def idle_models(given: Collection[str], folders: Iterable[str]) -> list[str]:
    """The models in these folders that the product leaves out of a build with these endpoints and triggers."""
    below = tuple(f"{folder}/" for folder in folders)
    nodes = (node for node in manifest().nodes.values() if node.original_file_path.startswith(below))
    rare = ((node.name, node.config.get("triggers")) for node in nodes)
    return [name for name, wanted in rare if wanted is not None and not set(wanted) & set(given)]


def evaluated(expression: str) -> Any:
    """What a Jinja expression of the project comes to, for example a macro's list."""
    inline = ("compile", "--inline", "{{ (" + expression + ") | tojson }}")
    with TemporaryDirectory() as folder, _warehouse(f"{folder}/warehouse.duckdb"):
        paths = ("--target-path", folder, "--log-path", folder)
        outcome = dbtRunner(manifest=manifest()).invoke([*inline, *RUN, *paths])
    assert outcome.success, outcome.exception
    result: Any = outcome.result
    return json.loads(result.results[0].node.compiled_code)
