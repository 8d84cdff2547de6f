"""From the warehouse to the served replica: editions, what a publish copies, how rows are clustered."""
