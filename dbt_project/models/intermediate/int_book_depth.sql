{{ book_figures('order_books', bands_pct=[0.1, 0.5, 1.0, 2.0], order_usd=100000) }}
