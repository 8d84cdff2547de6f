"""The endpoints: every file in these folders declares one resource, and is found by being here."""

import importlib
import pkgutil

from serve.contract.endpoint import REGISTRY, Endpoint


def all_endpoints() -> list[Endpoint]:
    """Every endpoint declared below this folder, by path."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return [REGISTRY[path] for path in sorted(REGISTRY)]
