{{ venue_ratios("15m") }}
