{{ staged_rows('staged_bars') }}
