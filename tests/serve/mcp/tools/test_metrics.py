"""list_metrics: the definitions of the edition, as /api/metrics has them."""

import pytest

from tests.support.servers.mcp_calls import Mcp


@pytest.mark.requirement("mcp:metrics")
def test_every_metric_is_listed_in_brief(mcp: Mcp) -> None:
    got = mcp.call("list_metrics")
    served = mcp.api.get("/api/metrics").json
    assert [one["metric"] for one in got["data"]["metrics"]] == [one["metric"] for one in served["metrics"]]
    for brief, whole in zip(got["data"]["metrics"], served["metrics"], strict=True):
        for name in ("title", "unit", "fields", "selectors", "types", "kinds"):
            assert brief[name] == whole[name], (whole["metric"], name)
        assert whole["description"].startswith(brief["description"].removesuffix("."))
        assert brief["finest_step"] == whole["steps"][0]
        assert "formula" not in brief
    assert (got["data"]["venues"], got["units"]["oi"]) == (served["venues"], "USD")
    assert got["status"] == "ok"


@pytest.mark.requirement("mcp:metrics")
def test_one_metric_has_its_whole_definition(mcp: Mcp) -> None:
    [whole] = [one for one in mcp.api.get("/api/metrics").json["metrics"] if one["metric"] == "oi"]
    for asked in ("oi", "open-interest"):
        got = mcp.call("list_metrics", {"metric": asked})
        [found] = got["data"]["metrics"]
        assert {name: found[name] for name in whole} == whole
        assert got["provenance"]["page"].endswith("/catalog/oi")
    error = mcp.wrong("list_metrics", {"metric": "fundin"})
    assert (error["data"]["argument"], error["data"]["nearest"]) == ("metric", "funding")
