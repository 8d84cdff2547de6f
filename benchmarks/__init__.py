"""Measurements of what has to be fast, each against a baseline taken in the same run. Run them with `make bench`."""
