"""What is served as assets: the edition and the dbt docs follow from the tables that a replica copies, bulk files from
the edition."""

import json
from pathlib import Path
from types import ModuleType

import dagster as dg
import duckdb
import pytest

from orchestration.code_location.serving import bulk_asset
from tests.support.pipeline.dbt_project import give_parsed, served
from tests.support.pipeline.pipeline_home import settings_for
from tests.support.replica.replica import publish


@pytest.mark.parametrize("key", [["serving", "edition"], ["docs", "dbt"]])
def test_it_depends_on_every_table_that_a_replica_copies(definitions: ModuleType, key: list[str]) -> None:
    graph = definitions.defs.resolve_asset_graph()
    copied = {dg.AssetKey(name) for name in served().names if name not in served().views}
    assert graph.get(dg.AssetKey(key)).parent_keys == copied
    assert copied <= graph.get_all_asset_keys()


@pytest.mark.requirement("bulk:finished")
def test_bulk_files_are_written_of_every_stored_series(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    give_parsed(settings)
    replica = publish(settings.serving, 1, max_days=2)
    with duckdb.connect(str(replica)) as con:
        con.execute("create table publish_state as select 1 as build_id, 1 as finished_ms")
        for table in served().tables:
            con.execute(
                f"delete from {table.name} where t < (select (as_of_ms // 86400000 - 1) * 86400000 from edition)"
            )
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        done = dg.materialize([bulk_asset(settings)], instance=instance)
    [written] = done.asset_materializations_for_node("serving__bulk")
    said = json.loads((settings.bulk / "manifest.json").read_text())
    assert written.metadata["files"].value == len(said["files"])
    assert {file["table"] for file in said["files"]} == {table.name for table in served().tables}
    # What the columns mean is dbt's own text.
    [base] = (one for one in said["tables"]["series_base_1h"]["columns"] if one["name"] == "base")
    assert (base["type"], base["description"]) == ("varchar", "Canonical coin, for example `BTC`.")
