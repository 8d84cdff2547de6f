"""Additions for test_adding: a venue, a metric, an endpoint and a tool, and a run of a copy of the repository with
them."""
