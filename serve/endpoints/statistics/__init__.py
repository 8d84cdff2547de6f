"""What the past says: distributions, streaks, outcomes, and scores of the estimates that are served."""
