"""Statistics of the past: distributions, streaks, outcomes, and scores of the served estimates."""
