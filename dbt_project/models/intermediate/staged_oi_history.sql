-- Open interest of past buckets as the venues publish it.
{{ staged_rows('staged_oi_history') }}
