"""Indices of the whole market: one value a day."""
