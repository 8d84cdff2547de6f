"""Public test suites for MCP servers, run against ours: `make conformance` runs this in the folder that has Node.js 22.

The official conformance suites' scenarios for a stateless server with tools, resources and prompts (the others need
fixtures of the suite's own servers, or sessions), the official Inspector's command line, and tdqs' lint of the tool
definitions.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.replica.replica import publish
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.mcp_calls import ARGUMENTS, MODERN, TOOLS

STABLE, NEXT = "@modelcontextprotocol/conformance", "conformance-next"
# Suite, newest revision that the server speaks, scenarios.
SCENARIOS = (
    (
        STABLE,
        "2025-11-25",
        ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"),
    ),
    (
        NEXT,
        "2025-11-25",
        (
            *("server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list"),
            "dns-rebinding-protection",
        ),
    ),
    (
        NEXT,
        MODERN,
        (
            *("server-stateless", "http-header-validation", "caching", "tools-list", "resources-list", "prompts-list"),
            *("sep-2164-resource-not-found", "dns-rebinding-protection"),
        ),
    ),
)
FIXTURE = "it calls a fixture tool that only the suite's own servers have"
# Checks that cannot pass here, each with its reason; one that passes after all has to go from this list.
IMPOSSIBLE = {
    "ServerAcceptsWhitespaceHeaderValue": "it calls the first tool without the argument that it requires; the tests of "
    "the next revision send such headers",
    "ServerRejectsUndeclaredCapability": FIXTURE,
    "MissingCapabilityHttp400": FIXTURE,
    "HttpServerNoIndependentRequestsOnStream": FIXTURE,
    "ServerNoLogWithoutLogLevel": FIXTURE,
}
# All requests of a suite come from one address.
UNLIMITED = """
from serve.http.limits import BUDGETS, Budget
BUDGETS.update(dict.fromkeys(BUDGETS, Budget(1_000_000, None)))
"""


def main() -> int:
    """Run everything, print a line each, return how many failed."""
    modules = Path(sys.argv[1]).resolve() / "node_modules"
    failed = 0
    for name, problems in judge(modules):
        print(f"{'failed' if problems else 'passed'}  {name}", *problems, sep="\n        ", flush=True)
        failed += bool(problems)
    return failed


def judge(modules: Path) -> Iterator[tuple[str, list[str]]]:
    """What was run, and what it found."""
    impossible: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        publish(Path(folder) / "serving", 1842, max_days=3)
        for revision in ("2025-11-25", MODERN):
            with running(Path(folder) / "serving", free_port(), revision=revision, before=UNLIMITED) as api:
                for suite, spoken, scenarios in SCENARIOS:
                    for scenario in scenarios if spoken == revision else ():
                        checks = conformance(modules, suite, api, scenario, revision)
                        wrong = {check["name"]: check.get("errorMessage", "") for check in checks if failing(check)}
                        impossible |= set(wrong) & set(IMPOSSIBLE)
                        problems = [f"{name}: {text}" for name, text in wrong.items() if name not in IMPOSSIBLE]
                        if not checks:
                            problems = ["it checked nothing"]
                        passed = sum(check["status"] == "SUCCESS" for check in checks)
                        yield f"{suite} {revision} {scenario}: {passed} of {len(checks)} checks", problems
                if revision == "2025-11-25":
                    for tool, arguments in ARGUMENTS.items():
                        yield f"inspector tools/call {tool}", called(modules, api, tool, arguments)
                    yield "inspector tools/list", listed(modules, api)
                    yield "inspector resources/list", offered(modules, api, "resources", "tidemark://metrics/oi")
                    yield "inspector prompts/list", offered(modules, api, "prompts", "explain_move")
                    yield "tdqs lint", linted(api)
    passing = sorted(set(IMPOSSIBLE) - impossible)
    yield "what cannot pass is still that", [f"{name} passes: take it from IMPOSSIBLE" for name in passing]


def conformance(modules: Path, suite: str, api: Api, scenario: str, revision: str) -> list[dict[str, Any]]:
    """The checks of a scenario."""
    with tempfile.TemporaryDirectory() as out:
        asked = ["server", "--url", f"http://localhost:{api.port}/mcp", "--scenario", scenario, "-o", out]
        if suite == NEXT:
            asked += ["--spec-version", revision]
        node(modules, f"{suite}/dist/index.js", *asked)
        [*found] = Path(out).glob("**/checks.json")
        return [check for file in found for check in json.loads(file.read_text())]


def failing(check: dict[str, Any]) -> bool:
    """Whether a check found something; INFO and SKIPPED are not about this server."""
    return check["status"] in ("FAILURE", "WARNING")


def inspected(modules: Path, api: Api, *asked: str) -> Any:
    """What the Inspector prints."""
    launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    url = f"http://127.0.0.1:{api.port}/mcp"
    done = node(modules, launcher, "--cli", url, "--transport", "http", *asked)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"printed": done.stdout + done.stderr}


def called(modules: Path, api: Api, tool: str, arguments: dict[str, Any]) -> list[str]:
    """Problems of a call through the Inspector, which reads values that look like JSON as JSON."""
    given = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={plain(value)}")]
    got = inspected(modules, api, "--method", "tools/call", "--tool-name", tool, *given)
    fine = "structuredContent" in got and got["structuredContent"]["status"] in ("ok", "partial")
    return [] if fine else [json.dumps(got)[:500]]


def plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def listed(modules: Path, api: Api) -> list[str]:
    """Problems of the list of tools through the Inspector."""
    got = inspected(modules, api, "--method", "tools/list")
    names = [tool["name"] for tool in got.get("tools", [])]
    return [] if names == TOOLS else [json.dumps(got)[:500]]


def offered(modules: Path, api: Api, kind: str, one: str) -> list[str]:
    """Problems of the list of resources or prompts through the Inspector: one must be there."""
    got = inspected(modules, api, "--method", f"{kind}/list")
    names = [found.get("uri", found["name"]) for found in got.get(kind, [])]
    return [] if one in names else [json.dumps(got)[:500]]


def linted(api: Api) -> list[str]:
    """What tdqs finds in the definitions: errors, warnings and notes."""
    tdqs = Path(sys.executable).parent / "tdqs"
    url = f"http://127.0.0.1:{api.port}/mcp"
    done = subprocess.run([tdqs, "lint", "--url", url, "--format", "json"], capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return [done.stdout + done.stderr]
    if len(report["tools"]) != len(TOOLS):
        return [f"it saw {len(report['tools'])} tools"]
    return [f"{finding['severity']}: {finding['message']}" for finding in report["findings"]]


def node(modules: Path, script: str, *asked: str) -> subprocess.CompletedProcess[str]:
    """Run a script of a package with the Node.js beside it."""
    command = [str(modules / "node/bin/node"), str(modules / script), *asked]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


if __name__ == "__main__":
    sys.exit(main())
