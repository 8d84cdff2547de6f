"""How a venue is declared: rate limits, endpoints, streams, history, reductions."""
