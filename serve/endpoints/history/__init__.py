"""Values over time, with the periods that were not recorded."""
