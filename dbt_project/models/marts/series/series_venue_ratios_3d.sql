{{ venue_ratios("3d") }}
