-- topLongShortPositionRatio: the share of positions, of the top fifth by margin balance; one row per bucket.
{{ binance_long_fractions('long_short_top_positions') }}
