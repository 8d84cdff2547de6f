{{ staged_rows('staged_oi_history') }}
