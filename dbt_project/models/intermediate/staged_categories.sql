{{ staged_rows('staged_categories') }}
