"""A valid key of the running server."""

import pytest

from serve.http.keys import create_key
from tests.support.servers.api_server import Api, until
from tests.support.servers.budgets import SERIES


@pytest.fixture(scope="session")
def key(api: Api) -> str:
    """A valid key of the running server."""
    _, text = create_key(api.keys, "tests")
    until(lambda: api.get(SERIES, X_API_Key=text).status, lambda status: status == 200)
    return text
