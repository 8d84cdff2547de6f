"""Settings, read from the environment once and validated."""
