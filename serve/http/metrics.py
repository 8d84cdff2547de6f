"""What the server counts for Prometheus, and the text of /metrics, which also has the files of the other processes.

With several workers each counts in files of its own that prometheus_client adds up, in a folder that `share` makes
before the workers start; what is a state and not a count is that of the worker that is asked.
"""

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
UNKNOWN = "unknown"  # the endpoint of requests to paths that there are not
SHARED = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
States = Mapping[tuple[str, str], Mapping[str, float | None]]
"""States by name and what they say, each by exchange; "" where there is one value."""
disable_created_metrics()  # type: ignore[no-untyped-call]
log = logging.getLogger("tidemark.serve")


def share() -> None:
    """Let the processes that are started from now on count together."""
    os.environ[SHARED] = tempfile.mkdtemp(prefix="tidemark-metrics-")


class Metrics:
    """The counters of one worker; `folder` has the files of other processes."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "tidemark_http_requests", "Responses of the API.", ("endpoint", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "tidemark_http_request_seconds",
            "Seconds from a request to its response.",
            ("endpoint",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self._cache = Counter(
            "tidemark_cache_requests",
            "Requests to endpoints by whether their response was cached.",
            ("result",),
            registry=self.registry,
        )
        self._hit, self._miss = self._cache.labels("hit"), self._cache.labels("miss")
        # Finding a child by its labels takes as long as counting.
        self._counted: dict[tuple[str, int], Counter] = {}
        self._timed: dict[str, Histogram] = {}

    def count(self, endpoint: str, status: int, seconds: float | None) -> None:
        """Count a response; one that goes on has no time."""
        counter = self._counted.get((endpoint, status))
        if counter is None:
            counter = self._counted[endpoint, status] = self._requests.labels(endpoint, str(status))
        counter.inc()
        if seconds is not None:
            timer = self._timed.get(endpoint)
            if timer is None:
                timer = self._timed[endpoint] = self._seconds.labels(endpoint)
            timer.observe(seconds)

    def looked_up(self, cached: bool) -> None:
        """Count a request to an endpoint by whether its response was cached."""
        (self._hit if cached else self._miss).inc()

    def text(self, states: States) -> bytes:
        """All of it in Prometheus's text format."""
        registry = self.registry
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        now = CollectorRegistry()
        now.register(_Now(states))
        return b"".join((generate_latest(registry), generate_latest(now), *self._files()))

    def _files(self) -> Iterator[bytes]:
        for file in sorted(self.folder.glob("*.prom")) if self.folder else ():
            try:
                yield file.read_bytes()
            except OSError as error:
                log.warning("%s cannot be read: %s", file, error.strerror)


class _Now(Collector):
    """States as gauges; an unknown one is left out."""

    def __init__(self, states: States) -> None:
        self.states = states

    def collect(self) -> Iterable[Metric]:
        for (name, about), values in self.states.items():
            alone = "" in values
            family = GaugeMetricFamily(f"tidemark_{name}", about, labels=[] if alone else ["venue"])
            for venue, value in values.items():
                if value is not None:
                    family.add_metric([] if alone else [venue], value)
            yield family
