"""The documents agree with the code: links work, and every setting, command, endpoint and tool is described."""

import itertools
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from orchestration.config.settings import REPOSITORY, SETTINGS
from serve.contract.endpoint import Endpoint
from serve.endpoints import all_endpoints
from serve.guide.guide import LOCAL, START, Page, page_order, read_page
from serve.mcp.tools import TOOLS
from serve.replica.catalog import Tier, read_catalog
from tests.requirements import REQUIREMENTS
from tests.support.replica.replica import CATALOG, TIERS

DOCS = REPOSITORY / "docs"
ROOMS = ("benchmarks", "dbt_project", "docs", "ingest", "orchestration", "sandbox", "serve", "tests")
# What the server has beside its endpoints.
SERIES = "/api/series/{metric}"
# They refer to the lists of metrics and venues, which stand once.
OF_SERIES = (SERIES, "/api/series", "/api/methodology/{metric}", "/api/explain", "/api/revisions")
# What an edition of this project has.
PUBLISHED = read_catalog(
    ((name, json.dumps(definition)) for name, definition in CATALOG.items()),
    tuple(Tier(step, width, keep) for step, width, _, keep in TIERS),
)
ROUTES = ("/docs", "/guide/", "/dbt/", "/quality/", "/mcp", "/llms.txt")


def documents() -> list[Path]:
    return [REPOSITORY / "README.md", *sorted(DOCS.glob("*.md"))]


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


@cache
def page_of(path: Path) -> Page:
    return read_page(path.read_text(encoding="utf-8"))


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or above."""
    level = re.match(r"#+", heading)
    assert level, heading
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level[0])}}} |\Z)", text, re.M | re.S)
    assert found, f"there is no {heading!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the first table of a text, without its head."""
    table = re.search(r"(?:^\|.*\n)+", text, re.M)
    assert table
    lines = table[0].replace("\\|", "&#124;").splitlines()[2:]
    return [[cell.strip().replace("&#124;", "|") for cell in line.strip("|").split("|")] for line in lines]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def asked_of_this_server(text: str) -> set[str]:
    """The paths of this server that a text names: with an address, and as code that is a path of the API."""
    after_address = re.findall(re.escape(LOCAL) + r"(/[^\s'\"`)\]?#]*)", text)
    as_code = [name.split("?")[0] for name in quoted(text) if name.startswith("/api/")]
    return {*after_address, *as_code}


@cache
def endpoints() -> dict[str, Endpoint]:
    return {endpoint.path: endpoint for endpoint in all_endpoints()}


def choices(path: str, name: str) -> set[str]:
    """The values that a parameter may have, where they are a fixed set."""
    return set(endpoints()[path].params[name].schema_for(PUBLISHED).get("enum", ()))


def is_served(path: str) -> bool:
    patterns = (re.sub(r"\\{\w+\\}", "[^/]+", re.escape(known)) for known in endpoints())
    return path in (*ROUTES, "/api/") or any(re.fullmatch(pattern, path) for pattern in patterns)


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    dead = []
    for link in page_of(path).links:
        if link.startswith(LOCAL):
            dead += [link] * (not is_served(link.removeprefix(LOCAL) or "/"))
        elif not link.startswith("https://"):
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            known = target.is_file() and (not anchor or anchor in {each.anchor for each in page_of(target).headings})
            dead += [link] * (not known)
    assert dead == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_paths_of_this_server_exist(path: Path) -> None:
    assert [name for name in asked_of_this_server(path.read_text()) if not is_served(name)] == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_named_files_exist(path: Path) -> None:
    named = [name for name in quoted(path.read_text()) if re.match(rf"(?:{'|'.join(ROOMS)})/", name)]
    # Of a name with a placeholder, the folder that the placeholder is in.
    concrete = [name if "<" not in name else name.partition("<")[0].rpartition("/")[0] for name in named]
    assert [name for name in concrete if not (REPOSITORY / name).exists()] == []


def test_every_page_is_in_the_guide_s_list() -> None:
    pages = {path.stem: page_of(path) for path in DOCS.glob("*.md")}
    assert set(page_order(pages)) == set(pages)
    assert {path.name for path in (DOCS / "images").glob("*")} == {
        Path(link).name for path in documents() for link in page_of(path).links if "images/" in link
    }


def test_a_page_has_one_title_and_no_level_left_out() -> None:
    for path in documents():
        levels = [heading.level for heading in page_of(path).headings]
        assert levels.count(1) == 1, path
        assert levels[0] == 1, path
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), path


def test_settings_are_the_code_s() -> None:
    shown = rows(section(text_of("operations"), "## Settings"))
    assert [(name.strip("`"), default.strip("`"), meaning) for name, default, meaning in shown] == [
        tuple(setting) for setting in SETTINGS
    ]


def test_settings_that_are_named_exist() -> None:
    named = {name for path in documents() for name in re.findall(r"TIDEMARK_\w+", path.read_text())}
    of_tests = {"TIDEMARK_ARCHIVES", "TIDEMARK_RECORDINGS", "TIDEMARK_TEST_START"}
    assert named - {setting.name for setting in SETTINGS} <= of_tests


def test_commands_are_the_command_line_s() -> None:
    shown = rows(section(text_of("operations"), "## Commands"))
    described = {re.findall(r"tidemark (\w+)", command)[0] for command, _ in shown}
    said = subprocess.run(
        [sys.executable, "-m", "orchestration.cli", "--help"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    listed = re.findall(r"^  (\w+) ", said.stdout.partition("Commands:")[2].partition("\n\n")[0], re.M)
    assert described == set(listed)
    for command, _ in shown:
        # Options of a command that has subcommands are those of the subcommands.
        name, *options = re.findall(r"tidemark (\w+)|(--[\w-]+)", command)
        usage = subprocess.run(
            [sys.executable, "-m", "orchestration.cli", name[0], "--help"],
            cwd=REPOSITORY, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert [option for _, option in options if option not in usage] == [], command


def test_make_targets_that_are_named_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    named = {name for path in documents() for name in re.findall(r"`make ([\w-]+)", path.read_text())}
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.M)] == []


def test_endpoints_are_the_code_s() -> None:
    text = text_of("interface")
    overview = rows(section(text, "## 4 Endpoints"))
    assert {path.strip("`"): (budget, kept) for path, budget, kept in overview} == {
        item.path: (item.budget or "none", f"{item.ttl} s" if item.ttl else "never") for item in endpoints().values()
    }
    described = re.findall(r"^### 4\.\d+ `GET ([^`]+)`$", text, re.M)
    assert sorted(described) == sorted(endpoints())


@pytest.mark.parametrize("path", sorted(endpoints()))
def test_parameters_are_the_code_s(path: str) -> None:
    text = text_of("interface")
    heading = re.search(rf"^### 4\.\d+ `GET {re.escape(path)}`$", text, re.M)
    assert heading
    described = section(text, heading[0])
    params = endpoints()[path].params
    if not params:
        assert described.strip().startswith("No parameters.")
        return
    table = {name.strip("`"): (default, allowed) for name, default, allowed in rows(described)}
    assert list(table) == list(params)
    for name, param in params.items():
        default, allowed = table[name]
        needed = param.required or f"{{{name}}}" in path
        assert (default == "required") == needed, name
        if param.default is not None:
            assert default == f"`{param.default}`", name
        if path not in OF_SERIES or name not in ("metric", "venue"):
            assert set(quoted(allowed)) >= choices(path, name), name


def test_metrics_are_the_code_s() -> None:
    table = re.search(r"^\| metric \| aliases.*?(?=\n\n)", text_of("interface"), re.M | re.S)
    assert table
    named = [name for cells in rows(table[0] + "\n") for cell in cells[:2] for name in quoted(cell)]
    assert len(named) == len(set(named))
    assert set(named) == choices(SERIES, "metric")
    assert set(quoted(section(text_of("interface"), "### 2.1 Conventions"))) >= choices(SERIES, "venue")


def test_tools_are_the_code_s() -> None:
    names = [tool.name for tool in TOOLS]
    tools = rows(section(text_of("interface"), "### 4.24 `POST /mcp` (tool endpoint)"))
    assert [name.strip("`") for name, _ in tools] == names
    assert [name.strip("`") for name, _ in rows(section(text_of("mcp"), "## Tools"))] == names
    described = section(text_of("interface"), "### 4.24 `POST /mcp` (tool endpoint)")
    shared = described.partition("The arguments of a history are")[2]
    for tool, (_, arguments) in zip(TOOLS, tools, strict=True):
        said = quoted(shared.partition("\n\n")[0] if arguments == "those of a history" else arguments)
        assert [name for name in tool.params if name not in said] == [], tool.name


def test_cited_sections_exist() -> None:
    numbers = {
        path.stem: {heading.text.split(" ")[0] for heading in page_of(path).headings} for path in DOCS.glob("*.md")
    }
    cited = {requirement.section for requirement in REQUIREMENTS.values()}
    assert [name for name in cited if name.split(" ")[1] not in numbers.get(name.split(" ")[0], ())] == []


def test_the_glossary_is_in_plain_words() -> None:
    terms = re.findall(r"^\*\*(.+?)\*\*: (.+?)\n\n", text_of("glossary") + "\n\n", re.M | re.S)
    assert len(terms) >= 20
    assert [name for name, meaning in terms if len(re.split(r"[.?] ", meaning)) > 3] == []
    assert START not in [name for name, _ in terms]
