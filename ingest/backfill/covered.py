"""Which spans of the past have been fetched, per venue, kind and market, in a SQLite file that survives a kill."""

from pathlib import Path

from ingest.backfill.state_file import open_state

Span = tuple[int, int]
"""[begin, end) in UTC epoch ms."""


class Covered:
    """The fetched spans. Use it from one thread; a span is stored once `add` has returned."""

    def __init__(self, path: Path) -> None:
        self._file = open_state(
            path,
            "covered (venue text, kind text, key text, begin_ms integer, end_ms integer,"
            " primary key (venue, kind, key, begin_ms))",
        )

    def summary(self, venue: str, kind: str) -> tuple[int, int | None, int | None]:
        """(markets with any span of a kind, earliest begin, latest end); times in UTC epoch ms."""
        query = "select count(distinct key), min(begin_ms), max(end_ms) from covered where venue = ? and kind = ?"
        found: tuple[int, int | None, int | None] = self._file.execute(query, (venue, kind)).fetchone()
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def spans(self, venue: str, kind: str, key: str) -> list[Span]:
        """The fetched spans of a market, oldest first; they neither overlap nor touch."""
        query = "select begin_ms, end_ms from covered where venue = ? and kind = ? and key = ? order by begin_ms"
        return self._file.execute(query, (venue, kind, key)).fetchall()

    def add(self, venue: str, kind: str, key: str, begin_ms: int, end_ms: int) -> None:
        """Store a span as fetched."""
        if begin_ms >= end_ms:
            return
        touched = [span for span in self.spans(venue, kind, key) if span[0] <= end_ms and span[1] >= begin_ms]
        whole = (min([begin_ms, *(b for b, _ in touched)]), max([end_ms, *(e for _, e in touched)]))
        self._replace(venue, kind, key, touched, [whole])

    def forget(self, venue: str, kind: str, key: str, begin_ms: int, end_ms: int) -> None:
        """Remove a span, so that it is fetched again."""
        if begin_ms >= end_ms:
            return
        touched = [span for span in self.spans(venue, kind, key) if span[0] < end_ms and span[1] > begin_ms]
        parts = [(b, min(e, begin_ms)) for b, e in touched] + [(max(b, end_ms), e) for b, e in touched]
        self._replace(venue, kind, key, touched, [(b, e) for b, e in parts if b < e])

    def gaps(self, venue: str, kind: str, key: str, begin_ms: int, end_ms: int) -> list[Span]:
        """The parts of a span that have not been fetched, the newest first."""
        found, at = list[Span](), begin_ms
        for begin, end in self.spans(venue, kind, key):
            if begin > at:
                found.append((at, min(begin, end_ms)))
            at = max(at, end)
            if at >= end_ms:
                break
        if at < end_ms:
            found.append((at, end_ms))
        return [(b, e) for b, e in reversed(found) if b < e]

    def _replace(self, venue: str, kind: str, key: str, gone: list[Span], new: list[Span]) -> None:
        self._file.execute("begin immediate")
        for begin, _ in gone:
            self._file.execute(
                "delete from covered where venue = ? and kind = ? and key = ? and begin_ms = ?",
                (venue, kind, key, begin),
            )
        for begin, end in new:
            self._file.execute("insert into covered values (?, ?, ?, ?, ?)", (venue, kind, key, begin, end))
        self._file.execute("commit")
