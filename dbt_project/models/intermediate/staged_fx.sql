{{ staged_rows('staged_fx') }}
