"""HTTP for every response: cache, compression, API keys, rate limits, ETags, errors."""
