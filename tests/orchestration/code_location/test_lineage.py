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


def test_each_reader_of_the_edition_links_to_its_request(definitions: ModuleType) -> None:
    assets = definitions.defs.resolve_asset_graph()
    links = {
        key.path[1]: assets.get(key).metadata["request"].value
        for key in assets.get_all_asset_keys()
        if key.path[0] == "exposure"
    }
    assert links["api_series"] == "http://127.0.0.1:8080/api/series/oi?base=BTC"
    assert all(link.startswith("http://127.0.0.1:8080/") for link in links.values())
