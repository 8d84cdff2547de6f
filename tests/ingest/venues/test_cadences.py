"""How often each kind is requested: the venues' declarations against the minutes for which gaps count a response."""

import ast
from pathlib import Path

from ingest.declaration.endpoint import Endpoint
from ingest.venues import VENUES

MACRO = Path(__file__).parents[3] / "dbt_project" / "macros" / "recording.sql"
LONGEST_S = 3600
"""Keys that come round more seldom than this count as requested hourly: a share of them is requested in between."""


def minutes_between(endpoint: Endpoint) -> int:
    """Minutes after which the endpoint, or the last of its rotating keys, is requested again."""
    fan_out = endpoint.fan_out
    rotation_s = (fan_out.rest_s or 0) if fan_out and fan_out.top == 0 else 0
    return max(endpoint.every_s, min(rotation_s, LONGEST_S)) // 60


def test_gaps_count_a_response_until_the_kind_is_requested_again() -> None:
    """A shorter time there would be a gap after every response; a longer one would hide a missing response."""
    text = MACRO.read_text()
    _, _, rest = text.partition("{{ return(")
    counted = {
        kind: minutes for minutes, kinds in ast.literal_eval(rest.partition(") }}")[0]).items() for kind in kinds
    }
    declared: dict[str, int] = {}
    for venue in VENUES:
        declared |= {stream.name: 1 for stream in venue.streams if stream.name in counted}
        for endpoint in venue.endpoints:
            declared[endpoint.name] = max(declared.get(endpoint.name, 0), minutes_between(endpoint))
    assert {kind: declared[kind] for kind in counted} == counted
