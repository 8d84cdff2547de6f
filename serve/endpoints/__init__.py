"""The endpoints: every file here declares one resource, and is found by being here."""

import importlib
import pkgutil

from serve.contract.endpoint import REGISTRY, Endpoint


def all_endpoints() -> list[Endpoint]:
    """Every endpoint declared in this folder, by path."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return [REGISTRY[path] for path in sorted(REGISTRY)]
