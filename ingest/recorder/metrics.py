"""What the recorder counts for Prometheus, written each minute as a file in the text format.

A file and not a port: whatever process counts, one scrape of the API has all of it, and on a host without the API the
textfile collector of Prometheus's node exporter reads it.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, write_to_textfile

from ingest.landing.outbox import Landed
from ingest.landing.rows import Row
from ingest.recorder.client import Client
from ingest.recorder.clock import now_ms

FILE = "recorder.prom"
NOT_ASKED = "not asked"
OUTCOMES = ("answered", "failed", "not_asked")
ENDPOINT = ("venue", "endpoint")
SECONDS = (0.25, 1, 2.5, 5, 10, 30)
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """The counters of one recorder; `folder` None writes nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "tidemark_requests",
            "Requests to an exchange by their last outcome; a stream counts one for each minute.",
            (*ENDPOINT, "outcome"),
            registry=registry,
        )
        self._attempts = Counter(
            "tidemark_request_attempts", "Requests that were sent, repeated ones too.", ENDPOINT, registry=registry
        )
        self._seconds = Histogram(
            "tidemark_request_seconds",
            "Seconds from sending a request to its whole answer.",
            ENDPOINT,
            buckets=SECONDS,
            registry=registry,
        )
        self._bytes = Counter(
            "tidemark_response_bytes",
            "Length of recorded bodies in characters, which are bytes but for a few names.",
            ENDPOINT,
            registry=registry,
        )
        pool = ("venue", "pool")
        self._limit = Gauge("tidemark_budget_limit", "What a rate limit allows in its window.", pool, registry=registry)
        self._left = Gauge("tidemark_budget_left", "What is left of a rate limit now.", pool, registry=registry)
        self._ban = Gauge(
            "tidemark_ban_seconds",
            "Seconds for which an exchange asked to send nothing, or to wait.",
            ("venue",),
            registry=registry,
        )
        self._minute = Gauge("tidemark_recorded_minute_timestamp_seconds", "The newest minute.", registry=registry)
        self._landed_at = Gauge(
            "tidemark_landed_timestamp_seconds", "When rows were landed for the last time.", registry=registry
        )
        self._rows = Counter("tidemark_landed_rows", "Rows that were landed.", registry=registry)
        self._landed_bytes = Counter("tidemark_landed_bytes", "Bytes of bodies that were landed.", registry=registry)
        self._failing = Gauge(
            "tidemark_landing_failing", "1 while rows wait in the journal because landing fails.", registry=registry
        )

    def note(self, row: Row) -> None:
        """Count a row: a request that was answered, failed or was not sent, or a stream's minute."""
        at = (row.venue, row.endpoint)
        outcome = "answered" if row.error is None else "not_asked" if row.error.startswith(NOT_ASKED) else "failed"
        self._requests.labels(*at, outcome).inc()
        self._attempts.labels(*at).inc(row.attempts)
        if row.received_ms is not None:
            self._seconds.labels(*at).observe(max(0, row.received_ms - row.requested_ms) / 1000)
        if row.body is not None:
            self._bytes.labels(*at).inc(len(row.body))

    def landed(self, landed: Landed) -> None:
        """Count a landing."""
        self._rows.inc(landed.rows)
        self._landed_bytes.inc(landed.body_bytes)
        self._failing.set(landed.fault is not None)
        if landed.rows:
            self._landed_at.set(now_ms() / 1000)

    def write(self, clients: Mapping[str, Client], tick_ms: int) -> None:
        """Replace the file. A disk that is full leaves the former one, whose age says so."""
        self._minute.set(tick_ms / 1000)
        for venue, client in clients.items():
            self._ban.labels(venue).set(client.bans.longest_ms(now_ms()) / 1000)
            for name, budget in client.budgets.items():
                self._limit.labels(venue, name).set(budget.limit)
                self._left.labels(venue, name).set(budget.left)
        if self.folder is None:
            return
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_to_textfile(str(self.folder / FILE), self.registry)
