"""Dagster's code location: assets, jobs, schedules and checks. Nothing else imports Dagster."""
