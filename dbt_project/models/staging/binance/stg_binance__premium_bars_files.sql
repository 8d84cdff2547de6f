{{ binance_value_bars('premium_minutes_history', premium=true) }}
