"""Which part of the past a fetch is for: venues, kinds, a span, and the small fetch of a demo."""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.declaration.past import DAY_MS, History

SAMPLE_DAYS = {"1d": 200, "1h": 30, "5m": 2, None: 31}
"""Days: how far back a demo's small fetch goes."""


@dataclass(frozen=True)
class Wanted:
    """What is to be fetched; None means all, and as far back as is declared.

    kinds    names of histories (`perp_bars_1d`) or of recorded kinds (`perp_bars`: all its intervals)
    again    also what has been fetched before
    sample   the small fetch of a demo
    within_s  begin nothing new after this long
    """

    venues: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    begin_ms: int | None = None
    end_ms: int | None = None
    again: bool = False
    sample: bool = False
    within_s: float | None = None

    def has(self, history: History) -> bool:
        """Whether a history is among the kinds."""
        return self.kinds is None or history.name in self.kinds or history.endpoint in self.kinds

    def span(self, history: History, at_ms: int) -> tuple[int, int]:
        """The span [begin, end) of whole rows; nothing that the venue no longer has."""
        step = history.step_ms
        days = min(history.days, SAMPLE_DAYS[history.interval]) if self.sample else history.days
        begin = self.begin_ms if self.begin_ms is not None else at_ms - days * DAY_MS
        if history.kept_days:
            # An hour less: the oldest rows leave while one asks.
            begin = max(begin, at_ms - history.kept_days * DAY_MS + 3_600_000)
        end = min(at_ms, self.end_ms if self.end_ms is not None else at_ms)
        return -(-begin // step) * step, end // step * step
