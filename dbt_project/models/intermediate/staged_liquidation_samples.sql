{{ staged_rows('staged_liquidation_samples') }}
