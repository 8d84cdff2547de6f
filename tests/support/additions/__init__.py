"""Additions for test_adding: a venue, a metric, an endpoint, a rollup step and a tool, and a run of a copy with them."""
