{{ venue_ratios("4h") }}
