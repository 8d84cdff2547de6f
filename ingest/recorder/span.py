"""The listening time of a stream connection as rows: fragments without gaps between them, none across a minute."""

from collections.abc import Callable

import orjson

from ingest.landing.rows import Row
from ingest.recorder.clock import minute_start, now_ms

STOPPED = "the recorder was stopped"
BUSY_MS, QUIET_MS = 1_000, 10_000
"""A fragment with messages is written after 1 s, one without after 10 s: a crash loses no more than that."""


class Span:
    """The listening time of one connection. `emit` receives a row per fragment."""

    def __init__(self, venue: str, name: str, key: str, minute_ms: int, emit: Callable[[Row], None]) -> None:
        self._row = Row(0, venue, name, key, "{}", 101, 0, None, 1, None, None)
        self._minute_ms = minute_ms
        self._emit = emit
        self._start_ms = now_ms()
        self._messages: list[tuple[int, str]] = []
        self._last_ms = self._start_ms
        self.opened_ms = self._start_ms

    def message(self, frame: str) -> None:
        """Keep a frame as it is, with its time of arrival."""
        at_ms = self._now()
        self._cut_minutes(at_ms)
        self._messages.append((at_ms, frame))

    def attend(self) -> None:
        """Write the fragment when it is due."""
        at_ms = self._now()
        self._cut_minutes(at_ms)
        if at_ms - self._start_ms >= (BUSY_MS if self._messages else QUIET_MS):
            self._write(at_ms, None)

    def close(self, reason: str) -> None:
        """Write the last fragment, with the reason of its end."""
        at_ms = self._now()
        self._cut_minutes(at_ms)
        self._write(at_ms, reason)

    def _now(self) -> int:
        # The system clock may be set back during a connection; its fragments must not overlap.
        self._last_ms = max(self._last_ms, now_ms())
        return self._last_ms

    def _cut_minutes(self, at_ms: int) -> None:
        while (end_ms := (self._start_ms // self._minute_ms + 1) * self._minute_ms) <= at_ms:
            self._write(end_ms, None)

    def _write(self, end_ms: int, reason: str | None) -> None:
        inside, broken = [], 0
        for at_ms, frame in self._messages:
            try:
                orjson.loads(frame)
            except ValueError:
                broken += 1
                frame = orjson.dumps(frame).decode()
            inside.append(f'{{"received_ms":{at_ms},"message":{frame}}}')
        if broken:
            note = f"{broken} frames were not JSON: kept as text"
            reason = f"{reason}; {note}" if reason else note
        self._emit(
            self._row._replace(
                tick_ms=minute_start(self._start_ms, self._minute_ms),
                requested_ms=self._start_ms,
                received_ms=end_ms,
                error=reason,
                body=f"[{','.join(inside)}]",
            )
        )
        self._messages.clear()
        self._start_ms = end_ms
