"""Additions for test_adding: a venue, a metric, an endpoint, a rollup step and a tool, run in a copy."""
