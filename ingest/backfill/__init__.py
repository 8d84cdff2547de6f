"""The backfill: which spans of the past are wanted and fetched already, and the process that fetches the rest."""
