"""The processes of `tidemark demo` and `tidemark up`: checks before they start, and restarts when they fail. Also a run
of a backfill, which the command and Dagster start."""
