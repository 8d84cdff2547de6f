"""Tests, in the folders of what they test; `support/` holds what is no test."""
