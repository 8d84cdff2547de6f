"""The vocabulary in which a venue is declared: endpoints, streams, limits, history, reductions."""
