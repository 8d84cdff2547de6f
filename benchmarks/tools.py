"""The tools of /mcp: a thousand calls of all kinds, four at a time.

`python -m benchmarks.tools URL` measures a server that runs; it must trust this machine as a proxy
(TIDEMARK_TRUSTED_PROXIES=127.0.0.1), because each call has a client address of its own.
"""

import http.client
import itertools
import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.product import get, percentile, some_address

CALLS, AT_ONCE = 1000, 4
RANGES = ("6h", "1d", "7d", "30d", "90d")
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Answered(NamedTuple):
    """One call: its tool, time and size; `state` is the envelope's status, or the error."""

    tool: str
    seconds: float
    chars: int
    state: str


def measure(api: str) -> dict[str, Any]:
    """Call the tools of a running server; client and server share the machine."""
    coins = [coin for coin in get(f"{api}/api/markets")["coins"] if coin["oi_usd"]]
    questions = _questions(coins, random.Random(1))
    parts = [questions[first::AT_ONCE] for first in range(AT_ONCE)]
    start = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as clients:
        answers = list(itertools.chain(*clients.map(lambda part: _ask(api, part), parts)))
    took = time.perf_counter() - start
    times = [answer.seconds * 1000 for answer in answers]
    wrong = [answer for answer in answers if answer.state not in ("ok", "partial", "unavailable")]
    if wrong:
        print(f"{len(wrong)} calls failed, such as {wrong[0]}", file=sys.stderr)
    return {
        "calls": len(answers),
        "failed": len(wrong),
        "unavailable": sum(answer.state == "unavailable" for answer in answers),
        "per_s": round(len(answers) / took),
        "p50_ms": round(percentile(times, 0.5), 1),
        "p99_ms": round(percentile(times, 0.99), 1),
        "max_ms": round(max(times), 1),
        "median_kb": round(percentile([answer.chars / 1024 for answer in answers], 0.5), 1),
        "max_kb": round(max(answer.chars for answer in answers) / 1024, 1),
    }


def _questions(coins: list[dict[str, Any]], chance: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """Tools and arguments in random order, with popular coins much more often than others."""
    found: list[tuple[str, dict[str, Any]]] = []
    while len(found) < CALLS:
        coin = coins[int(len(coins) * chance.random() ** 2)]
        of_coin = {"base": coin["base"], "range": chance.choice(RANGES)}
        found += [
            ("market_snapshot", {"base": coin["base"], "type": chance.choice(("perp", "spot", "all"))}),
            ("funding_history", of_coin),
            ("oi_history", of_coin | {"step": chance.choice(("5m", "1h"))}),
            ("liquidations_history", of_coin),
            ("spike_feed", {"range": f"{chance.randint(1, 24)}h", "limit": chance.randint(1, 200)}),
            ("spike_feed", {"base": coin["base"], "range": "24h"}),
            ("spike_outcomes", {"ids": [chance.randrange(2**53) for _ in range(20)]}),
            ("xray_risk_ranking", {"limit": chance.randint(1, 50)}),
        ]
        found += [("oi_history", {"market": _market(perp), "range": "7d"}) for perp in coin["perps"][:1]]
    return chance.sample(found[:CALLS], CALLS)


def _market(perp: dict[str, Any]) -> str:
    return f"{perp['venue']}:perp:{perp['symbol']}"


def _ask(api: str, questions: list[tuple[str, dict[str, Any]]]) -> list[Answered]:
    connection = http.client.HTTPConnection(urlsplit(api).netloc, timeout=60)
    answers = []
    for tool, arguments in questions:
        params = {"name": tool, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        start = time.perf_counter()
        connection.request("POST", "/mcp", body, {**HEADERS, "X-Forwarded-For": some_address()})
        text = connection.getresponse().read()
        seconds = time.perf_counter() - start
        got = json.loads(text)
        state = got["result"]["structuredContent"]["status"] if "result" in got else str(got)
        answers.append(Answered(tool, seconds, len(text), state))
    connection.close()
    return answers


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1].rstrip("/"))))
