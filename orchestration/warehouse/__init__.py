"""The warehouse: one writer, windows of landed loads, dbt runs over them, compaction and trimming."""
