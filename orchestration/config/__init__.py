"""The settings, read from the environment once and checked."""
