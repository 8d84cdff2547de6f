"""The lineage in Dagster, from every venue to the served edition."""

from types import ModuleType

import dagster as dg

from ingest.venues import VENUES


def test_the_lineage_leads_from_every_venue_to_the_served_edition(definitions: ModuleType) -> None:
    assets = definitions.defs.resolve_asset_graph()
    above, waiting = set[dg.AssetKey](), [dg.AssetKey(["serving", "edition"])]
    while waiting:
        parents = assets.get(waiting.pop()).parent_keys - above
        above |= parents
        waiting += parents
    assert {dg.AssetKey(["venue", venue.name]) for venue in VENUES} <= above
    assert {dg.AssetKey(["landing", "responses"]), dg.AssetKey("raw_window"), dg.AssetKey("series_base_1d")} <= above
