"""Statements of sql_query: each runs on the newest edition in a process of its own, within limits."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson

from serve.contract.errors import ApiError, BadParameter
from serve.mcp import statement_process

SECONDS = 10
MEMORY, ADDRESS_BYTES = "256MB", 1536 * 1024 * 1024
MOST_BYTES = 64 * 1024
# Each takes a core while it runs. Who comes later waits no longer than for one of them.
AT_ONCE = 1
NARROWER = "filter by time and market, or aggregate, or use a coarser table, such as series_base_1d"
WHY = {
    "empty": "it is empty: send one query, such as `from markets`",
    "several": "it is more than one statement ({message}): send them one at a time; a pivot needs its values listed",
    "kind": "it is {message}, and only queries are run here: select, from, with, values, describe, show, summarize",
    "outside": "it reads a file, an address or a setting, and only the tables of the edition can be read: {message}",
    "memory": f"it needs more than {MEMORY} of memory: {NARROWER}",
    "time": f"it took longer than {SECONDS} s: {NARROWER}",
    "syntax": "DuckDB cannot read it: {message}",
    "error": "DuckDB refuses it: {message}",
}
MOST_CHARS = 600  # of DuckDB's own words


class Statements:
    """The statements that run in this worker."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def run(self, text: str, replica: Path, rows: int, seconds: int = SECONDS) -> dict[str, Any]:
        """Its `columns`, `rows` and how they are `truncated`. Raises BadParameter with the reason for a refusal, and a
        429 if another statement takes all of the time."""
        try:
            async with asyncio.timeout(SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            raise ApiError(429, "another statement is running", {"retry-after": "1"}) from None
        try:
            answer = await _run(text, replica, rows, seconds)
        finally:
            self._turns.release()
        if "refused" in answer:
            words: str = answer["message"]
            short = words if len(words) <= MOST_CHARS else f"{words[:MOST_CHARS]}…"
            raise BadParameter("statement", text, WHY[answer["refused"]].format(message=short))
        return answer


async def _run(text: str, replica: Path, rows: int, seconds: int) -> dict[str, Any]:
    request = {
        "replica": str(replica),
        "statement": text,
        "rows": rows,
        "bytes": MOST_BYTES,
        "memory": MEMORY,
        "address_bytes": ADDRESS_BYTES,
        "seconds": seconds,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", statement_process.__file__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        async with asyncio.timeout(seconds):
            out, _ = await process.communicate(orjson.dumps(request))
    except TimeoutError:
        return {"refused": "time", "message": ""}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        # The system ended it: DuckDB counts most of its memory, not all.
        return {"refused": "memory", "message": ""}
    answer: dict[str, Any] = orjson.loads(out)
    return answer
