"""The recorder: requests every venue's data each minute, within its rate limits, and listens to its streams."""
