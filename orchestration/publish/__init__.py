"""From the warehouse to the replica that is served: editions, what a publish copies, how rows are clustered."""
