{{ staged_rows('staged_settlements') }}
