"""What is served as assets: the edition and the dbt docs follow from the tables that a replica copies."""

from types import ModuleType

import dagster as dg
import pytest

from tests.support.pipeline.dbt_project import served


@pytest.mark.parametrize("key", [["serving", "edition"], ["docs", "dbt"]])
def test_it_depends_on_every_table_that_a_replica_copies(definitions: ModuleType, key: list[str]) -> None:
    graph = definitions.defs.resolve_asset_graph()
    copied = {dg.AssetKey(name) for name in served().names if name not in served().views}
    assert graph.get(dg.AssetKey(key)).parent_keys == copied
    assert copied <= graph.get_all_asset_keys()
