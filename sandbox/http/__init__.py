"""The sandbox over HTTP and WebSocket: routing, rate limits, faults, replay of recorded bodies."""
