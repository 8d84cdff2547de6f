"""What an endpoint and a tool both serve, one subject a module: read once, and shaped by each."""
