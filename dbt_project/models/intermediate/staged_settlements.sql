-- Funding settlements as the venues publish them.
{{ staged_rows('staged_settlements') }}
