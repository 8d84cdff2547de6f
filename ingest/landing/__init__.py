"""From a received response to a committed Parquet load: rows, journal, outbox, dlt pipeline."""
