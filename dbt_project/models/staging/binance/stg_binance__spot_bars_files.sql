{{ file_view('binance', 'spot_minutes_history', kline_fields(ms_text("{0}")),
    ["opened_ms", "closed_ms", "open", "close", "volume", "turnover", "taker_buy_turnover"]) }}
