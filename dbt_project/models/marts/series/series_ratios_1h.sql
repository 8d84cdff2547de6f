{{ ratio_tier("1h", finer="5m") }}
