{{ venue_ratios("1h") }}
