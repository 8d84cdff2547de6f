{{ staged_rows('staged_metrics') }}
