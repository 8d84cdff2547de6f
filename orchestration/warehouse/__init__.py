"""The warehouse: one writer, windows of landed loads, dbt runs on them, compaction and trimming."""
