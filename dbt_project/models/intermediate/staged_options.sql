{{ staged_rows('staged_options') }}
