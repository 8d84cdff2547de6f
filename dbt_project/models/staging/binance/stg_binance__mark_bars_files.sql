{{ binance_value_bars('mark_minutes_history') }}
