"""The guide as it is served: pages and files, links that lead to this server, anchors as code hosts give them."""

import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from serve.guide.guide import guide, read_page
from tests.support.servers.api_server import ROOT, Api


class References(HTMLParser):
    """Where the links, images and stylesheets of a page lead, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = set()
        self.scripts: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.targets |= {found[name] or "" for name in ("href", "src") if name in found}
        self.anchors |= {found["id"] or ""} if "id" in found else set()
        if tag == "script" or any(name.startswith("on") or name == "style" for name in found):
            self.scripts.add(found.get("src") or tag)


@pytest.mark.requirement("guide:served")
def test_every_page_exists_and_its_links_work(api: Api) -> None:
    pages: dict[str, References] = {}
    waiting = ["/guide/"]
    while waiting:
        path = waiting.pop()
        answer = api.get(path)
        assert answer.status == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8", path
        text = answer.body.decode()
        pages[path] = References(text)
        assert pages[path].scripts == {"/pages/header.js"}
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        for target in (target.partition("#")[0] for target in pages[path].targets if target.startswith("/guide/")):
            if target not in (*pages, *waiting) and "." not in target:
                waiting.append(target)
            elif "." in target:
                assert api.get(target).status == 200, target
    assert {f"/guide/{name}" for name in guide() if "." not in name} == set(pages)
    for path, page in pages.items():
        for target in page.targets:
            name, mark, anchor = target.partition("#")
            assert not mark or anchor in pages[name or path].anchors, (path, target)
            assert not name.startswith("http://127.0.0.1"), (path, target)


@pytest.mark.requirement("guide:served", "http:etag", "http:304", "http:coding", "http:head", "http:json-errors")
def test_guide_pages_are_served_like_other_pages(api: Api) -> None:
    plain, packed = api.get("/guide/"), api.get("/guide/", Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < len(plain.body)
    assert api.get("/guide/", If_None_Match=plain.headers["etag"]).status == 304
    assert api.get("/guide/", "HEAD").body == b""
    assert re.match(r"public, max-age=\d+", plain.headers["cache-control"])
    assert api.get("/guide/guide.css").headers["content-type"] == "text/css"
    assert (api.get("/guide").status, api.get("/guide").headers["location"]) == (308, "/guide/")
    for path in ("/guide/nothing", "/guide/../README.md", "/guide/%2e%2e/LICENSE", "/guide/README", "/guide/page.html"):
        answer = api.get(path)
        assert (answer.status, "/guide/" in answer.error) == (404, True), path


@pytest.mark.requirement("guide:served")
def test_links_and_anchors_are_made_as_code_hosts_make_them() -> None:
    page = read_page(
        "# A `b` & C\n\n## 4.1 `GET /api/{x}`\n\n## Twice\n\n## Twice\n\n"
        "[a](venues.md#okx) [b](http://127.0.0.1:8080/docs) [c](#twice) [d](https://example.org) [e](README.md)\n\n"
        "![f](images/a.png) <script>alert(1)</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert [heading.anchor for heading in page.headings] == ["a-b--c", "41-get-apix", "twice", "twice-1"]
    assert References(page.html).targets == {
        "/guide/venues#okx", "/docs", "#twice", "https://example.org", "/guide/", "/guide/images/a.png"
    }  # fmt: skip
    assert "<script>" not in page.html
    assert '<div class="table"><table>' in page.html


@pytest.mark.requirement("guide:served")
def test_an_installed_package_has_the_guide(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in ("serve", "docs"):
        copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignore_patterns("__pycache__"))
    build = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    made = subprocess.run([sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(tmp_path / made.stdout.splitlines()[-1]) as wheel:
        names = set(wheel.namelist())
    wanted = {f"serve/guide/pages/{path.relative_to(ROOT / 'docs')}" for path in (ROOT / "docs").rglob("*.*")}
    assert wanted | {"serve/guide/page.html", "serve/guide/guide.css"} <= names
