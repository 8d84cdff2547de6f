"""Runs Tidemark: builds the warehouse, publishes editions, checks quality, supervises the processes."""
