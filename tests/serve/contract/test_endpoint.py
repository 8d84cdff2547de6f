"""The declaration of an endpoint: found by its path, once, with a summary."""

import pytest

from serve.contract.endpoint import REGISTRY, endpoint
from serve.contract.parameters import Values
from serve.contract.serialize import Body
from serve.endpoints import all_endpoints
from serve.replica.edition import Reader


@pytest.mark.requirement("openapi:complete")
def test_a_path_is_declared_once_and_with_a_summary() -> None:
    taken = next(iter(all_endpoints())).path

    def undescribed(query: Values, db: Reader) -> Body:
        raise NotImplementedError

    before = dict(REGISTRY)
    with pytest.raises(ValueError, match=r"/api/undescribed has no docstring"):
        endpoint("/api/undescribed", ttl=None, schema={})(undescribed)
    with pytest.raises(ValueError, match=rf"{taken} is declared twice"):
        endpoint(taken, ttl=None, schema={})(undescribed)
    assert before == REGISTRY


@pytest.mark.requirement("openapi:complete")
def test_endpoints_have_names_and_sections_of_their_own() -> None:
    endpoints = list(all_endpoints())
    assert len({one.name for one in endpoints}) == len(endpoints)
    groups = dict(one.group for one in endpoints)
    assert set(groups) == {"History", "Indices", "Live", "Service", "Statistics"}
    assert all(groups.values())
