{{ ratio_tier("5m") }}
