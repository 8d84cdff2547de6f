{{ binance_long_fractions('long_short_accounts') }}
