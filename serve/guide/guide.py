"""Renders docs/*.md as the pages of /guide/, once per process.

The same files are read on a code host, so their links are written for one: to a page by its file name
(`venues.md#okx`), to this server by the address that `make demo` prints. Here, links to pages lead to /guide/, and
links to the server lead to whichever host serves the page. `pages` is a symbolic link to docs/, so that an installed
package has the files too.
"""

import mimetypes
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from serve.contract.serialize import JSON, Body
from serve.pages.pages import Pages

FOLDER = Path(__file__).parent
PAGES = FOLDER / "pages"
START = "README"  # the page of the folder itself, as on a code host; its links put the others in order
AT = "/guide/"
LOCAL = "http://127.0.0.1:8080"
MARKDOWN = "text/markdown; charset=utf-8"


class Heading(NamedTuple):
    """A heading: its level, its text, and the anchor that leads to it."""

    level: int
    text: str
    anchor: str


class Source(NamedTuple):
    """A page of the guide as Markdown: its title, and the path that serves it."""

    title: str
    path: str


class Page(NamedTuple):
    """One Markdown file: its headings (the first is its title), its links as they are written, and its HTML."""

    headings: list[Heading]
    links: list[str]
    html: str


@cache
def guide(dagster: str = "") -> dict[str, Body]:
    """Every page and file of the guide by the part of its URL after /guide/; empty for the start page. Each page is
    there as Markdown too, under its file's name. `dagster` is the address to which the header links, if any."""
    pages = _pages()
    frames = Pages(dagster)
    template = Template((FOLDER / "page.html").read_text(encoding="utf-8"))
    images = {f"images/{path.name}": path for path in (PAGES / "images").glob("*")}
    notebooks = {f"notebooks/{path.name}": path for path in (PAGES / "notebooks").glob("*.ipynb")}
    files = {"guide.css": FOLDER / "guide.css", **images, **notebooks}
    bodies = {name: Body(path.read_bytes(), mimetypes.guess_type(path.name)[0] or JSON) for name, path in files.items()}
    bodies |= {path.name: Body(path.read_bytes(), MARKDOWN) for path in PAGES.glob("*.md")}
    for name, page in pages.items():
        title = escape(f"{page.headings[0].text} · Tidemark guide")
        text = template.substitute(menu=_menu(pages, name), content=page.html)
        bodies[_path(name)] = frames.frame(AT, title, text)
    return bodies


def guide_pages() -> list[Source]:
    """The pages as Markdown, in the order of the start page."""
    pages = _pages()
    return [Source(pages[name].headings[0].text, f"{AT}{name}.md") for name in page_order(pages)]


@cache
def _pages() -> dict[str, Page]:
    return {path.stem: read_page(path.read_text(encoding="utf-8")) for path in sorted(PAGES.glob("*.md"))}


def read_page(text: str) -> Page:
    """Read one file. Headings get the anchors that code hosts give them; links are made to work on this server."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    headings: list[Heading] = []
    links: list[str] = []
    taken: Counter[str] = Counter()
    for position, token in enumerate(tokens):
        if token.type == "heading_open":
            said = "".join(part.content for part in tokens[position + 1].children or ())
            slug = re.sub(r"[^\w\- ]", "", said.lower()).replace(" ", "-")
            anchor = f"{slug}-{taken[slug]}" if taken[slug] else slug
            taken[slug] += 1
            token.attrSet("id", anchor)
            headings.append(Heading(int(token.tag[1:]), said, anchor))
        links += [_redirect(part) for part in token.children or () if part.type in ("link_open", "image")]
    html: str = markdown.renderer.render(tokens, markdown.options, {})
    # Wide tables get their own scroll bar. Text that looks like a tag is escaped by now.
    html = html.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    return Page(headings, links, html)


def page_order(pages: Mapping[str, Page]) -> list[str]:
    """The pages as the start page lists them, itself first."""
    linked = (link.partition("#")[0].removesuffix(".md") for link in pages[START].links)
    return [START, *dict.fromkeys(name for name in linked if name in pages)]


def _redirect(part: Token) -> str:
    """Rewrite the target of a link or an image for this server; returns the original target."""
    name = "src" if part.type == "image" else "href"
    written = str(part.attrs[name])
    if written.startswith(LOCAL):
        part.attrs[name] = written.removeprefix(LOCAL) or "/"
    elif not re.match(r"[a-z]+:|#", written):
        path, mark, anchor = written.partition("#")
        part.attrs[name] = AT + _path(path.removesuffix(".md")) + mark + anchor
    return written


def _menu(pages: Mapping[str, Page], current: str) -> str:
    """The list of pages; below the current one, its sections."""
    items = []
    for name in page_order(pages):
        title, *headings = pages[name].headings
        here = ' aria-current="page"' if name == current else ""
        items.append(f'<li><a href="{AT}{_path(name)}"{here}>{escape(title.text)}</a>')
        if here:
            sections = (heading for heading in headings if heading.level == 2)
            listed = "".join(f'<li><a href="#{each.anchor}">{escape(each.text)}</a></li>' for each in sections)
            items.append(f"<ul>{listed}</ul>")
        items.append("</li>")
    return f"<ul>{''.join(items)}</ul>"


def _path(name: str) -> str:
    return "" if name == START else name
