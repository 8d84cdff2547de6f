"""Recording of the venues: what is asked of each, the recorder, the backfill of the past, and the landing."""
