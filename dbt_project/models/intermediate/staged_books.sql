{{ staged_rows('staged_books') }}
