"""Performance measurements, each against a baseline in the same run. Run them with `make bench`."""
