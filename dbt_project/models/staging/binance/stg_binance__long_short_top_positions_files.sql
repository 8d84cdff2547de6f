{{ binance_metrics_long_fractions(6) }}
