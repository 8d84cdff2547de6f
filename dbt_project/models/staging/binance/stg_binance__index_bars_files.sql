{{ binance_value_bars('index_minutes_history') }}
