"""The HTTP and WebSocket side of the sandbox: routing, rate limits, faults, replay of recorded bodies."""
