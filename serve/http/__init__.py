"""What HTTP asks of every response: cache, compression, API keys, rate limits, validators, errors."""
