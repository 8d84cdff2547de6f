"""Stand-ins of the venues: one server that speaks their paths and formats, simulated or replayed."""
