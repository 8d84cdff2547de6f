{{ venue_ratios("1d") }}
