{{ ratio_tier("1d", finer="1h") }}
