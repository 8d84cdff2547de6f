-- Order books of the perps held most and of the markets of their indices, as the venues publish them.
{{ staged_rows('staged_books') }}
