{{ staged_rows('staged_instruments') }}
