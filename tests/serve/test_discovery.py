"""What programs look for: /llms.txt, /.well-known/, and Link headers; every link leads somewhere."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from serve.endpoints import all_endpoints
from tests.support.servers.api_server import ROOT, Api, free_port, running

LINK = re.compile(r"- \[([^\]]+)\]\(([^)]+)\)")


@pytest.mark.requirement("discovery:llms")
def test_models_find_the_documents_and_every_endpoint(api: Api) -> None:
    answer = api.get("/llms.txt")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    text = answer.body.decode()
    assert text.startswith("# Tidemark\n\n> ")
    assert re.findall(r"^## (.*)", text, re.M) == ["Start", "Guide", "Endpoints"]
    links = LINK.findall(text)
    assert {path for _, path in links if path.startswith("/guide/")} == {
        f"/guide/{page.name}" for page in (ROOT / "docs").glob("*.md")
    }
    for title, path in links:
        found = api.get(path)
        assert found.status == 200, path
        if path.startswith("/guide/"):
            assert found.headers["content-type"] == "text/markdown; charset=utf-8"
            assert found.body.decode() == (ROOT / "docs" / path.removeprefix("/guide/")).read_text()
            assert found.body.decode().startswith(f"# {title}")
    assert set(re.findall(r"^- `GET ([^`]+)`: \S", text, re.M)) == {one.path for one in all_endpoints()}
    assert api.get("/llms.txt", If_None_Match=answer.headers["etag"]).status == 304


@pytest.mark.requirement("discovery:links")
def test_the_catalog_of_apis_links_to_what_describes_this_one(api: Api) -> None:
    answer = api.get("/.well-known/api-catalog", Host="api.example.org", X_Forwarded_Proto="https")
    assert answer.headers["content-type"].startswith("application/linkset+json")
    assert 'rel="api-catalog"' in answer.headers["link"]
    assert "Host" in answer.headers["vary"]
    [context] = orjson.loads(answer.body)["linkset"]
    assert context.pop("anchor") == "https://api.example.org/"
    assert set(context) == {"service-desc", "service-doc", "status", "item"}
    for link in (link for links in context.values() for link in links):
        path = link["href"].removeprefix("https://api.example.org")
        assert path.startswith("/")
        assert api.get(path).status == (405 if path == "/mcp" else 200), path
    head = api.get("/.well-known/api-catalog", "HEAD")
    assert (head.status, head.body, 'rel="api-catalog"' in head.headers["link"]) == (200, b"", True)


@pytest.mark.requirement("discovery:registry")
def test_the_registry_lists_the_mcp_server_by_the_name_of_its_host(api: Api) -> None:
    """The limits are those of the registry's schema of 2025-12-11."""
    answer = api.get("/server.json", Host="data.example.org", X_Forwarded_Proto="https")
    assert "Host" in answer.headers["vary"]
    listed = orjson.loads(answer.body)
    assert listed["name"] == "org.example.data/tidemark"
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", listed["name"])
    assert listed["$schema"].startswith("https://static.modelcontextprotocol.io/schemas/")
    assert 1 <= len(listed["description"]) <= 100
    assert 1 <= len(listed["title"]) <= 100
    assert listed["version"] == orjson.loads(api.get("/openapi.json").body)["info"]["version"]
    assert listed["websiteUrl"] == "https://data.example.org/"
    assert listed["remotes"] == [{"type": "streamable-http", "url": "https://data.example.org/mcp"}]
    for host in ("127.0.0.1:8080", "localhost", "[::1]:8080"):
        refused = api.get("/server.json", Host=host)
        assert (refused.status, host.partition(":")[0] in refused.error) == (404, True)


@pytest.mark.requirement("discovery:links")
def test_a_response_links_to_its_description(api: Api) -> None:
    assert '</openapi.json>; rel="service-desc"' in api.get("/").headers["link"]
    for query in ("base=BTC", "base=BTC&format=csv", "base=BTC&format=parquet"):
        answer = api.get(f"/api/series/open-interest?{query}&range=2h")
        assert answer.headers["link"] == '</api/methodology/oi>; rel="describedby"'
    assert api.get("/api/methodology/oi").status == 200
    assert "link" not in api.get("/api/markets").headers


@pytest.mark.requirement("discovery:links")
def test_the_contact_for_security_is_the_operator_s(api: Api, tmp_path: Path) -> None:
    answer = api.get("/.well-known/security.txt")
    assert answer.status == 404
    assert "TIDEMARK_SECURITY_CONTACT" in answer.error
    with running(tmp_path / "serving", free_port(), contact="mailto:security@example.org") as named:
        answer = named.get("/.well-known/security.txt")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    fields = dict(line.split(": ", 1) for line in answer.body.decode().splitlines())
    assert fields["Contact"] == "mailto:security@example.org"
    left = datetime.fromisoformat(fields["Expires"]) - datetime.now(UTC)
    assert timedelta(days=100) < left < timedelta(days=365)
