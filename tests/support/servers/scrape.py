"""What /metrics shows, read as Prometheus reads it, and the names that the dashboard and the alert rules use."""

import json
import re
import urllib.request
from collections.abc import Iterator

import yaml
from prometheus_client.parser import text_string_to_metric_families

from orchestration.config.settings import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
NAME = re.compile(r"\btidemark_[a-z0-9_]+\b")
# Nothing was refused, nothing was set aside, and the disk's growth is known after an hour.
NOT_YET = {"tidemark_rejected", "tidemark_quarantined_responses", "tidemark_disk_days_left"}


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Each sample by its name and labels; a sample that is there twice is an error, as for Prometheus."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def scraped(port: int) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The samples of a running server."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as response:
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        return samples(response.read().decode())


def expressions() -> Iterator[str]:
    """Every expression of the dashboard and of the alert rules."""
    dashboard = json.loads((DEPLOY / "grafana" / "tidemark.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["expr"]


def used_names() -> set[str]:
    """The names of ours in them."""
    return {name for expression in expressions() for name in NAME.findall(expression)}
