"""Dagster's code location: assets, jobs, schedules, sensors and checks. No other package imports Dagster."""
