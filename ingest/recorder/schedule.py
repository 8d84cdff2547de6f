"""The requests of one venue in one minute: cadence, fan-out over keys, rotation of the other keys, missing bars."""

import logging

import orjson

from ingest.declaration.endpoint import Endpoint, FanOut, Keys, Request
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row

log = logging.getLogger(__name__)


class Catalogue:
    """The keys in the newest good bodies of each key source. Only (key, rank) pairs are kept, not the bodies."""

    def __init__(self, venue: Venue) -> None:
        fan_outs = [endpoint.fan_out for endpoint in venue.endpoints if endpoint.fan_out]
        sources = {source for fan_out in fan_outs for source in (fan_out.of, fan_out.within, fan_out.without) if source}
        sources |= {stream.topics for stream in venue.streams if stream.topics}
        self._sources = sources | {source.times for source in sources if source.times}
        self._listed: dict[Keys, dict[str, dict[str, float]]] = {}

    def learn(self, row: Row) -> None:
        """Read the keys of a good body. If it does not have the declared shape, the previous keys remain."""
        readers = [source for source in self._sources if source.endpoint == row.endpoint]
        if not readers or row.status != 200 or row.error or row.body is None:
            return
        try:
            body = orjson.loads(row.body)
        except ValueError as error:
            log.warning("%s %s %s: keys unreadable: %r", row.venue, row.endpoint, row.key, error)
            return
        for source in readers:
            try:
                self._listed.setdefault(source, {})[row.key] = dict(source.read(body))
            except Exception as error:
                # Whatever a body holds, it was answered: only its keys are unknown.
                log.warning("%s %s %s: keys unreadable: %r", row.venue, row.endpoint, row.key, error)

    def keys(self, source: Keys) -> dict[str, float] | None:
        """Key → rank over all bodies of the source; None before the first one."""
        listed = self._listed.get(source)
        if listed is None:
            return None
        ranks = {key: rank for part in listed.values() for key, rank in part.items()}
        if source.times is not None:
            factors = self.keys(source.times) or {}
            ranks = {key: rank * factors.get(key, 0.0) for key, rank in ranks.items()}
        return ranks

    def ranked(self, fan_out: FanOut) -> list[str]:
        """The keys of a fan-out, highest rank first."""
        keys = (self.keys(fan_out.of) if fan_out.of else None) or {}
        within = self.keys(fan_out.within) if fan_out.within else None
        without = (self.keys(fan_out.without) if fan_out.without else None) or {}
        chosen = [key for key in keys if key not in without and (within is None or key in within)]
        return sorted(chosen, key=lambda key: (-keys[key], key))


class Schedule:
    """When each endpoint and key was last requested and answered, and so which are due."""

    def __init__(self, venue: Venue, minute_ms: int) -> None:
        self.venue = venue
        self.minute_ms = minute_ms
        self.catalogue = Catalogue(venue)
        self._requested: dict[tuple[str, str], int] = {}
        self._answered: dict[tuple[str, str], int] = {}
        self._due: dict[str, int] = {}
        self._every_s = {endpoint.name: endpoint.every_s for endpoint in venue.endpoints}
        self._fanned = {endpoint.name for endpoint in venue.endpoints if endpoint.fan_out}

    def due(self, tick_ms: int) -> list[Endpoint]:
        """The endpoints that are due: all in the first minute, then each at the multiples of its `every_s`."""
        due = [endpoint for endpoint in self.venue.endpoints if tick_ms >= self._due.get(endpoint.name, 0)]
        for endpoint in due:
            period = max(1, endpoint.every_s // 60) * self.minute_ms
            self._due[endpoint.name] = (tick_ms // period + 1) * period
        return due

    def unknown(self, endpoint: Endpoint) -> list[str]:
        """Names of the endpoints that have not yet provided the keys of this one, the source of its keys first."""
        fan_out = endpoint.fan_out
        wanted = (fan_out.of, fan_out.of and fan_out.of.times, fan_out.within, fan_out.without) if fan_out else ()
        return [source.endpoint for source in wanted if source and self.catalogue.keys(source) is None]

    def requests(self, endpoint: Endpoint, tick_ms: int) -> list[Request]:
        """The endpoint's requests of this minute, highest rank first."""
        fan_out = endpoint.fan_out
        keys = [""] if fan_out is None else [*fan_out.always, *self._chosen(endpoint, fan_out)]
        for key in keys:
            self._requested[endpoint.name, key] = tick_ms
        return [Request(key, tick_ms, self._bars(endpoint, key, tick_ms)) for key in keys]

    def done(self, row: Row) -> None:
        """Note the outcome of a request."""
        if row.status == 200 and not row.error:
            self._answered[row.endpoint, row.key] = row.tick_ms
            self.catalogue.learn(row)
        elif row.endpoint not in self._fanned or not row.key:
            # A failed hourly request is repeated in the next minute, a daily one (which is large) after 24 minutes.
            # In a fan-out a key that always fails would cause all others to be repeated: it waits for its next turn.
            again_ms = row.tick_ms + max(
                self.minute_ms, self._every_s.get(row.endpoint, 60) // 60 * self.minute_ms // 60
            )
            self._due[row.endpoint] = min(self._due.get(row.endpoint, again_ms), again_ms)

    def answered(self, before_ms: int) -> dict[str, dict[str, int]]:
        """When each key of the endpoints with bars was last answered, in minutes before this one, UTC epoch ms."""
        found: dict[str, dict[str, int]] = {endpoint.name: {} for endpoint in self.venue.endpoints if endpoint.bars}
        for (endpoint, key), at_ms in self._answered.items():
            if endpoint in found and at_ms < before_ms:
                found[endpoint][key] = at_ms
        return found

    def note_answered(self, endpoint: str, key: str, at_ms: int) -> None:
        """Note that an earlier recorder asked for a key, and when it was answered."""
        self._answered[endpoint, key] = self._requested[endpoint, key] = at_ms

    def _chosen(self, endpoint: Endpoint, fan_out: FanOut) -> list[str]:
        ranked = self.catalogue.ranked(fan_out)
        if fan_out.top is None or len(ranked) <= fan_out.top:
            return ranked
        top, rest = ranked[: fan_out.top], ranked[fan_out.top :]
        if fan_out.rest_s is None:
            return top
        # The longest unrequested first: this spreads them evenly, whatever happens to the ranks.
        share = -(-len(rest) * max(60, endpoint.every_s) // fan_out.rest_s)
        rest.sort(key=lambda key: self._requested.get((endpoint.name, key), 0))
        return top + rest[:share]

    def _bars(self, endpoint: Endpoint, key: str, tick_ms: int) -> int:
        if endpoint.bars is None:
            return 0
        answered = self._answered.get((endpoint.name, key))
        if answered is None:
            return endpoint.bars.first
        missing = (tick_ms - answered) // self.minute_ms + endpoint.bars.usual - 1
        return min(endpoint.bars.most, max(endpoint.bars.usual, missing))
