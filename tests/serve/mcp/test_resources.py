"""resources/list, resources/templates/list, resources/read: metric definitions and pages of the guide as Markdown."""

from pathlib import Path

import pytest

from tests.serve.mcp.test_server import client
from tests.support.replica.replica import CATALOG
from tests.support.servers.api_server import ROOT, free_port, running
from tests.support.servers.mcp_calls import META, MODERN, Mcp, refused

METRICS, GUIDE = "tidemark://metrics/", "tidemark://guide/"


@pytest.mark.requirement("mcp:resources")
def test_every_metric_and_the_pages_of_methods_are_listed(mcp: Mcp) -> None:
    listed = mcp.result("resources/list")["resources"]
    pages = [GUIDE + name for name in ("methods", "venues", "glossary")]
    assert {one["uri"] for one in listed} == {*(METRICS + name for name in CATALOG), *pages}
    for one in listed:
        assert (one["mimeType"], bool(one["title"]), one["description"][-1]) == ("text/markdown", True, ".")
        [content] = mcp.result("resources/read", {"uri": one["uri"]})["contents"]
        assert (content["uri"], content["mimeType"]) == (one["uri"], "text/markdown")
        assert (len(content["text"].encode()), content["text"][:2]) == (one["size"], "# ")
    templates = mcp.result("resources/templates/list")["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == [METRICS + "{metric}", GUIDE + "{page}"]


@pytest.mark.requirement("mcp:resources")
def test_a_definition_says_what_the_metric_means(mcp: Mcp) -> None:
    for uri in (METRICS + "funding", METRICS + "funding-rate"):
        [content] = mcp.result("resources/read", {"uri": uri})["contents"]
        assert content["uri"] == uri
        text, said = content["text"], CATALOG["funding"]
        for part in ("formula", "unit", "description"):
            assert " ".join(said[part].split()) in text, part
        assert all(f"- {' '.join(caveat.split())}" in text for caveat in said["caveats"])
        assert "- Market types: perp, all\n" in text
        assert "`GET /api/series/funding`" in text
    [page] = mcp.result("resources/read", {"uri": GUIDE + "glossary"})["contents"]
    assert page["text"] == (ROOT / "docs/glossary.md").read_text()


@pytest.mark.requirement("mcp:resources")
@pytest.mark.parametrize(
    "uri", [METRICS + "fundin", METRICS, GUIDE + "../../pyproject", GUIDE + "operations", "file:///etc/passwd", "x", ""]
)
def test_what_there_is_not_is_an_error_of_the_revision(mcp: Mcp, modern: Mcp, uri: str) -> None:
    error = refused(mcp.ask("resources/read", {"uri": uri}), 200, -32002, 7)
    assert (error["data"]["uri"], error["data"]["argument"]) == (uri, "uri")
    if uri.endswith("fundin"):
        assert error["data"]["nearest"] == METRICS + "funding"
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "resources/read", "Mcp_Name": uri}
    answer = modern.ask("resources/read", {"uri": uri, "_meta": META}, **headers)
    refused(answer, 400, -32602, 7)


@pytest.mark.requirement("mcp:resources", "mcp:modern")
def test_the_next_revision_caches_what_it_lists_and_reads(modern: Mcp) -> None:
    for method, params, name in (
        ("resources/list", {}, None), ("resources/templates/list", {}, None),
        ("resources/read", {"uri": METRICS + "oi"}, METRICS + "oi"), ("prompts/list", {}, None),
    ):  # fmt: skip
        headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method, "Mcp_Name": name}
        result = modern.ask(method, {**params, "_meta": META}, **headers).json["result"]
        assert (result["resultType"], result["cacheScope"], result["ttlMs"] > 0) == ("complete", "public", True), method
    wrong = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "resources/read", "Mcp_Name": METRICS + "price"}
    refused(modern.ask("resources/read", {"uri": METRICS + "oi", "_meta": META}, **wrong), 400, -32020, 7)


@pytest.mark.requirement("mcp:resources")
def test_before_the_first_edition_there_is_the_guide(tmp_path: Path) -> None:
    with running(tmp_path / "serving", free_port()) as api:
        listed = Mcp(api).result("resources/list")["resources"]
        assert [one["uri"] for one in listed] == [GUIDE + name for name in ("methods", "venues", "glossary")]


@pytest.mark.requirement("mcp:resources", "mcp:clients")
@pytest.mark.parametrize(("server", "mode"), [("mcp", "legacy"), ("modern", MODERN)])
async def test_the_official_client_reads_them(server: str, mode: str, request: pytest.FixtureRequest) -> None:
    endpoint: Mcp = request.getfixturevalue(server)
    async with client(endpoint.api, mode) as connected:
        listed = await connected.list_resources()
        assert len(listed.resources) == len(CATALOG) + 3
        templates = await connected.list_resource_templates()
        assert len(templates.resource_templates) == 2
        read = await connected.read_resource(METRICS + "oi")
        assert "Open interest" in read.contents[0].text  # type: ignore[union-attr]
