"""API keys: how they are carried and revoked, and what they raise."""

from pathlib import Path

import pytest

from serve.http.keys import KeyFileError, KeyRing, create_key, read_keys, revoke_key
from tests.support.replica.replica import AS_OF_MS, DAY
from tests.support.servers.api_server import Answer, Api, in_one_minute, some_address, until
from tests.support.servers.budgets import SERIES, budget


@pytest.mark.requirement("keys:carried", "keys:private")
def test_how_a_key_is_carried(api: Api, key: str) -> None:
    plain, header = api.get(SERIES), api.get(SERIES, X_API_Key=key)
    assert header.body == plain.body
    assert header.headers["cache-control"] == plain.headers["cache-control"]
    for url in (f"{SERIES}&api_key={key}", f"/api/series/price?api%5Fkey={key}&base=BTC&range=2h"):
        in_url = api.get(url)
        assert (in_url.status, in_url.body) == (200, plain.body)
        assert in_url.headers["cache-control"] == "private, no-store"
        unchanged = api.get(url, If_None_Match=in_url.headers["etag"])
        assert (unchanged.status, unchanged.headers["cache-control"]) == (304, "private, no-store")
    for path in ("/api/markets", "/", "/openapi.json", "/api/status"):
        answer = api.get(f"{path}?api_key={key}")
        assert (answer.status, answer.headers["cache-control"]) == (200, "private, no-store")
    page = api.get(f"/docs?api_key={key}")
    assert (page.status, page.headers["cache-control"]) == (200, "private, no-store")
    assert api.get("/dbt?api_key=nope").status == 401, "it does not lead on either"
    assert (api.get("/dbt", "OPTIONS").status, api.get("/dbt").status in (308, 404)) == (204, True)
    nothing = api.get(f"/api/nope?api_key={key}")
    assert (nothing.status, nothing.headers["cache-control"]) == (404, "private, no-store")
    wrong = api.get(f"/api/series/price?base=NOPE&api_key={key}")
    assert (wrong.status, wrong.headers["cache-control"]) == (404, "private, no-store")
    assert key not in api.log.read_text()


@pytest.mark.requirement("keys:bad")
@pytest.mark.parametrize("wrong", ["nope", "tm_" + "A" * 43, "%00", "%F0%9F%9A%80", "x" * 5000, "'--"])
def test_a_bad_key_is_a_401_everywhere(api: Api, wrong: str) -> None:
    paths = (SERIES, "/api/series/nope", "/api/markets", "/api/status", "/", "/openapi.json", "/dbt/", "/nope")
    for path in paths:
        mark = "&" if "?" in path else "?"
        answer = api.get(f"{path}{mark}api_key={wrong}")
        assert (answer.status, answer.headers["cache-control"]) == (401, "private, no-store")
        assert "not valid" in answer.error
        assert "www-authenticate" in answer.headers
        if "%" not in wrong and len(wrong) < 4000:
            assert api.get(path, X_API_Key=wrong).status == 401
    assert budget(api.get(f"{SERIES}&api_key={wrong}"))[1] == 30, "a 401 does not count"
    assert api.get(SERIES, X_API_Key="").status == 401
    assert "Traceback" not in api.log.read_text()


@pytest.mark.requirement("keys:once")
def test_a_key_is_shown_once(api: Api, key: str) -> None:
    assert "once" in api.get(f"{SERIES}&api_key={key}&api_key={key}").error
    assert api.get(f"{SERIES}&api_key={key}", X_API_Key=key).status == 400

    def scenario() -> list[Answer]:
        who = some_address()
        twice = [api.get(f"{SERIES}&api_key={key}&api_key={key}", X_Forwarded_For=who) for _ in range(31)]
        return [*twice, api.get(f"{SERIES}&api_key=nope", X_Forwarded_For=who)]

    *twice, wrong = in_one_minute(scenario)
    assert [answer.status for answer in twice] == [400] * 30 + [429]
    assert ["retry-after" in answer.headers for answer in twice] == [False] * 30 + [True]
    assert (wrong.status, "retry-after" in wrong.headers) == (401, False), "to ask again would not help"


@pytest.mark.requirement("keys:revoked")
def test_a_revoked_key_is_refused_within_five_seconds(api: Api) -> None:
    made, text = create_key(api.keys, "to be revoked")
    until(lambda: api.get("/api/status", X_API_Key=text).status, lambda status: status == 200, deadline_s=5)
    revoke_key(api.keys, made.id)
    until(lambda: api.get("/api/status", X_API_Key=text).status, lambda status: status == 401, deadline_s=5)


@pytest.mark.requirement("keys:range", "keys:points")
def test_limits_that_a_key_raises(api: Api, key: str) -> None:
    long = "/api/series/price?base=BTC&range=10y"
    assert "3650d with an API key" in api.get(long).error
    got = api.get(f"{long}&step=1d", X_API_Key=key).json
    assert (got["step"], got["start"]) == (DAY, (AS_OF_MS - 3650 * DAY) // DAY * DAY)
    assert api.get("/api/series/price?base=BTC&range=3651d", X_API_Key=key).status == 400
    fine = f"/api/series/price?market=bybit:perp:BTCUSDT&start={AS_OF_MS - 2 * DAY}&end={AS_OF_MS}"
    assert api.get(fine).json["step"] == 300_000
    minutes = api.get(fine, X_API_Key=key).json
    assert minutes["step"] == 60_000
    assert 1500 < len(minutes["t"]) < 6000
    assert api.get(fine).json["step"] == 300_000
    edge = AS_OF_MS // 60_000 * 60_000
    for count, step in ((5999, 60_000), (6000, 300_000)):
        url = f"/api/series/price?base=BTC&step=1m&start={edge - count * 60_000}&end={edge}"
        assert api.get(url, X_API_Key=key).json["step"] == step


@pytest.mark.requirement("keys:bad")
def test_a_broken_key_file_admits_no_key(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    _, text = create_key(file, "one")
    assert KeyRing(file).find(text)
    file.write_text('{"keys": [{"sha256"')
    assert KeyRing(file).find(text) is None
    with pytest.raises(KeyFileError, match="cannot be read as keys"):
        read_keys(file)
    with pytest.raises(KeyFileError):
        create_key(file, "two")
    assert KeyRing(None).find(text) is KeyRing(tmp_path / "none").find(text) is None
