"""The wire formats of the venues: one file per venue."""
