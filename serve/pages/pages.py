"""Which pages there are, the request behind each, and their HTML. What a page shows, its scripts ask of the public API.

One shell is every page of the explorer: `js/app.js` draws what the path names. The header is in the HTML, so that it is
the same on the explorer, the reference and the guide, is there before a script runs, and works without one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple
from urllib.parse import unquote

import orjson

from serve.contract.serialize import Body
from serve.replica.edition import Edition

FOLDER = Path(__file__).parent
FILES_AT = "/pages/"
FORMS = ("json", "csv")
"""What may follow the path of a page, for its data in this form."""
HTML = "text/html; charset=utf-8"
NOT_SERVED = (".py", ".pyc", ".html")
# The server's own pages run only scripts from this server and connect to no other. Swagger UI's style sheet has images
# as data: URLs, charts are saved as blob: URLs. A URL may contain an API key, so it is never sent as a referrer.
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
# Documents of other tools have their scripts and styles in the page, and dbt's make code of text. Nothing of theirs
# comes from or goes to another origin either.
DOCUMENT_HEADERS = {
    **PAGE_HEADERS,
    "content-security-policy": "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data: blob:; connect-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

REPORT = re.compile(
    r"<title>(?P<title>[^<]*)</title>(?P<head>.*)</head>.*<nav class=\"own\">.*?</nav>(?P<content>.*)</body>", re.S
)
# dbt's page, which is all one file: its scripts hold `<body>` too, so the last one counts.
DBT_DOCS = re.compile(r"(?P<start>.*?<head>)(?P<head>.*)(?P<body><body[^>]*>)(?P<content>.*)", re.S)
DBT_HEAD = """
<link rel="stylesheet" href="/pages/tokens.css">
<link rel="stylesheet" href="/pages/dbt.css">
<script src="/pages/header.js" data-foreign></script>
"""


class View(NamedTuple):
    """A page of the explorer: its main request, the module that draws it, and what this imports beside the shell's own
    modules, so that the browser asks for all of them at once. `asked`: the page's query is that of the request."""

    request: str
    module: str
    imports: tuple[str, ...] = ()
    asked: bool = False


CHARTS = ("js/chart.js", "vendor/uplot/uplot.js")
TABLES = ("js/board.js", "js/known.js", "js/table.js", *CHARTS)
DECLARED = ("js/declare.js", *TABLES)
VIEWS = {
    "/": View("/api/markets", "js/home.js"),
    "/coins/{base}": View("/api/coin/{base}", "js/coin.js", ("js/known.js", "js/table.js", *CHARTS)),
    "/coins/{base}/{metric}": View("/api/series/{metric}?base={base}&by=venue", "js/metric.js", DECLARED),
    "/markets/{market}": View("/api/instruments?market={market}", "js/market.js", ("js/candles.js", *DECLARED)),
    "/funding": View("/api/funding-percentiles", "js/trading.js", DECLARED),
    "/open-interest": View("/api/open-interest-acceleration", "js/trading.js", DECLARED),
    "/liquidations": View("/api/liquidations", "js/liquidations.js", DECLARED),
    "/long-short": View("/api/long-short", "js/positions.js", DECLARED),
    "/basis": View("/api/series/basis?base=BTC", "js/positions.js", DECLARED),
    "/depth": View("/api/order-book-depth", "js/books.js", DECLARED),
    "/options/{coin}": View("/api/options/{coin}", "js/options.js", DECLARED),
    "/indices": View("/api/altcoin-season", "js/studies.js", DECLARED),
    "/spikes": View("/api/spike-stats", "js/events.js", DECLARED),
    "/spikes/{coin}": View("/api/spike-stats/{coin}", "js/events.js", DECLARED),
    "/xray": View("/api/xray", "js/liquidations.js", DECLARED),
    "/premiums": View("/api/kimchi-premium/history?base=BTC", "js/studies.js", DECLARED),
    "/new-listings": View("/api/new-listings", "js/events.js", DECLARED),
    "/compare": View("/api/coins/overlay?c=BTC,ETH", "js/studies.js", DECLARED),
    "/explain": View("/api/explain", "js/explain.js", ("js/table.js",), asked=True),
    "/coverage": View("/api/coverage", "js/coverage.js", ("js/table.js",)),
    "/catalog": View("/api/metrics", "js/catalog.js"),
    "/catalog/{metric}": View("/api/methodology/{metric}", "js/definition.js"),
    "/status": View("/api/status", "js/status.js"),
}
SHELL_MODULES = ("js/app.js", "js/parts.js", "js/api.js", "js/address.js", "js/format.js", "js/snippets.js")
# Where the header leads: the first address after which a page's own begins is the current one.
SURFACES = {
    "/": "Markets",
    "/funding": "Funding",
    "/open-interest": "Open interest",
    "/liquidations": "Liquidations",
    "/options/BTC": "Options",
    "/indices": "Indices",
    "/coverage": "Coverage",
    "/catalog": "Metrics",
    "/docs": "API",
    "/guide/": "Guide",
    "/dbt/": "Tables",
    "/quality/": "Quality",
}


class Pages:
    """The HTML of the pages. `dagster` is the address of Dagster's pages on this machine, if they are served."""

    def __init__(self, dagster: str = "") -> None:
        self.dagster = dagster

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """What the pages load, by the part of its URL after /pages/."""
        found = (path for path in sorted(FOLDER.rglob("*")) if path.is_file() and path.suffix not in NOT_SERVED)
        return {path.relative_to(FOLDER).as_posix(): path for path in found}

    def frame(self, path: str, title: str, page: str) -> Body:
        """The whole HTML of the page at a path. `page` is what it adds to the head, then `<body>`, then its content."""
        head, _, content = page.partition("<body>\n")
        text = _template("frame").substitute(
            title=title, head=head.strip(), header=self.header(path).rstrip(), content=content
        )
        return Body(text.encode(), HTML)

    def header(self, path: str) -> str:
        """The header of the page at a path, which leads to all surfaces."""
        within = "/" if path.startswith(("/coins/", "/markets/")) else path
        links = [f'<a href="{at}"{_current(at == within)}>{name}</a>' for at, name in SURFACES.items()]
        if self.dagster:
            # It has no login and listens on this machine alone: header.js shows the link to a browser that is on it.
            links.append(f'<a href="{escape(self.dagster)}" data-this-machine hidden>Dagster</a>')
        return _template("header").substitute(links="\n".join(links))

    def shell(self, path: str) -> Body:
        """The explorer's page at a path, also at one that it does not know."""
        request = ""
        modules: tuple[str, ...] = ()
        for pattern, view in VIEWS.items():
            if found := _match(pattern, path):
                request, modules = _fill(view.request, found), (view.module, *view.imports)
        alternate = f'<link rel="alternate" type="application/json" href="{escape(request)}">' if request else ""
        preload = (f'<link rel="modulepreload" href="{FILES_AT}{name}">' for name in (*SHELL_MODULES, *modules))
        page = _template("shell").substitute(
            alternate=alternate,
            preload="\n".join(preload),
            request=escape(request or "/"),
            views=escape(orjson.dumps({pattern: FILES_AT + view.module for pattern, view in VIEWS.items()}).decode()),
        )
        return replace(self.frame(path, "Tidemark", page), vary=("Accept",))

    def framed(self, path: str, report: str) -> bytes:
        """A page of the quality report with the pages' header in place of its own, which it has where it is a file."""
        found = REPORT.search(report)
        if found is None:
            return report.encode()
        return self.frame(path, found["title"], f"{found['head']}<body>\n{found['content']}").data

    def above(self, path: str, document: str) -> bytes:
        """dbt's documentation with the pages' header above it."""
        found = DBT_DOCS.fullmatch(document)
        if found is None:
            return document.encode()
        start, head, body, content = found.groups()
        return "".join((start, DBT_HEAD, head, body, self.header(path), content)).encode()

    @cached_property
    def reference(self) -> Body:
        """The page of the API's reference."""
        return self.frame("/docs", "API · Tidemark", _template("docs").template)


def data_request(path: str, query: str) -> str | None:
    """The request behind a page, for the page's path with `.json` or `.csv` after it, in this form; the first page is
    `/index`."""
    page, _, form = path.rpartition(".")
    page = "/" if page == "/index" else page
    for pattern, view in VIEWS.items() if form in FORMS else ():
        if found := _match(pattern, page):
            request = _fill(view.request, found) + (f"?{query}" if view.asked and query else "")
            return request if form == "json" else f"{request}{'&' if '?' in request else '?'}format={form}"
    return None


def leads_nowhere(path: str, edition: Edition | None) -> bool:
    """Whether the path of a page names a coin, a market or a metric that the edition does not have."""
    if edition is None:
        return False
    metric: Callable[[str], object] = edition.catalog.by_name.get
    market: Callable[[str], object] = edition.markets.get
    known = {"base": edition.base, "coin": edition.base, "metric": metric, "market": market}
    for pattern in VIEWS:
        if found := _match(pattern, path):
            return any(known[name](unquote(text)) is None for name, text in found.groupdict().items())
    return True


def _match(pattern: str, path: str) -> re.Match[str] | None:
    return re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", pattern), path.rstrip("/") or "/")


def _fill(request: str, found: re.Match[str]) -> str:
    return re.sub(r"{(\w+)}", lambda name: found[name[1]], request)


def _current(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""


def _template(name: str) -> Template:
    return Template((FOLDER / f"{name}.html").read_text(encoding="utf-8"))
