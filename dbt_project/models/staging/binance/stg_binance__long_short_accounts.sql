-- globalLongShortAccountRatio: of all accounts with a position in one perp, the share that is net long; one row per bucket.
{{ binance_long_fractions('long_short_accounts') }}
