"""The metric definitions as they are written in the dbt project: what may be requested before anything is published."""

from typing import Any

import yaml

from orchestration.config.settings import REPOSITORY

METRICS = REPOSITORY / "dbt_project/models/metrics/_metrics.yml"


def read_written() -> dict[str, dict[str, Any]]:
    """The definitions by their API name, as publish takes them from dbt's manifest, which takes seconds to make."""
    metrics = yaml.load(METRICS.read_bytes(), yaml.CSafeLoader)["metrics"]  # in C: 10 ms instead of 64
    catalog = {}
    for metric in metrics:
        definition = {"title": metric["label"], "description": metric["description"], **metric["config"]["meta"]}
        if name := definition.pop("api_name", None):
            catalog[name] = definition
    return catalog
