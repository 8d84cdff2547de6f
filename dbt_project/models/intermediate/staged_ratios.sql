{{ staged_rows('staged_ratios') }}
