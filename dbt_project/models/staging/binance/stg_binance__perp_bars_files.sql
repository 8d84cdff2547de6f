{{ file_view('binance', 'perp_minutes_history', binance_perp_bar_fields(), binance_perp_bar_required()) }}
