"""The tools of /mcp: every `Tool` that a file of this folder defines, found by being there."""

from importlib import import_module
from pkgutil import iter_modules

from serve.mcp.tool import Tool

# Listed first, because the instructions to agents begin with it. The others follow in the order of files and lines.
FIRST = "market_snapshot"


def _all_tools() -> list[Tool]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return [found for module in modules for found in vars(module).values() if isinstance(found, Tool)]


TOOLS: tuple[Tool, ...] = tuple(sorted(_all_tools(), key=lambda tool: tool.name != FIRST))
