"""Questions that endpoints and tools share: a series, a snapshot, a range of time."""
