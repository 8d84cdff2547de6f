"""Tests of the dbt metrics and exposures."""
