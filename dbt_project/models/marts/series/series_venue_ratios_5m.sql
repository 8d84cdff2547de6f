{{ venue_ratios("5m") }}
