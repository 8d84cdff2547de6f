"""Queries and response parts that several endpoints and tools share."""
