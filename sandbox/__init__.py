"""Simulated exchanges: a market with a known truth, served over HTTP and WebSocket in the venues' own formats."""
