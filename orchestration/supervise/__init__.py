"""The processes of `tidemark demo` and `tidemark up`: checks before they start, and restarts when they fail."""
