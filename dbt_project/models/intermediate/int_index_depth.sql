{{ book_figures('index_books', bands_pct=[0.5, 1.0, 2.0, 5.0]) }}
