"""Which markets each venue carries: one file per venue."""
