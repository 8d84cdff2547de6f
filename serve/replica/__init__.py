"""The published replica as the server reads it: editions, metric definitions, gaps."""
