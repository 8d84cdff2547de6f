"""Runs Tidemark: builds the warehouse, publishes editions, checks data quality, supervises the processes."""
