"""Validations and their report: it names the rows, needs no network, and is served with the counts."""

import re
from pathlib import Path

from tests.support.pipeline.quality_faults import Outcomes
from tests.support.pipeline.quality_home import MINUTE, QualityHome
from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.servers.api_server import free_port, running


def test_the_report_names_the_rows_and_needs_no_network(minutes: tuple[QualityHome, Outcomes]) -> None:
    home, failed = minutes
    page = (home.settings.quality_docs / failed["venues_agree_on_prices"]["report"]).read_text()
    for text in ("bybit:perp:ETHUSDT", "okx:perp:SOLUSDT", "oi_base", "the median of 4 venues"):
        assert text in page
    index = (home.settings.quality_docs / "index.html").read_text()
    assert failed["venues_agree_on_prices"]["report"] in index
    for text in (page, index):
        assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//[^"' >]+""", text) == []
        assert "<script" not in text


def test_the_report_and_the_counts_are_served(minutes: tuple[QualityHome, Outcomes], tmp_path: Path) -> None:
    home, failed = minutes
    publish(tmp_path / "serving", 1)
    with running(tmp_path / "serving", free_port(), quality=home.settings.quality_docs) as api:
        assert api.get("/quality").headers["location"] == "/quality/"
        assert b"hourly_minutes" in api.get("/quality/").body
        assert b"bybit:perp:ETHUSDT" in api.get("/quality/" + failed["venues_agree_on_prices"]["report"]).body
        assert api.get("/quality/../../hourly.duckdb").status == 404
        last = AS_OF_MS - AS_OF_MS % MINUTE
        assert api.get("/api/status").json["suspects"] == [
            {"check": "minutes_in_range", "venue": "binance", "rows": 2, "last_ms": last}
        ]
