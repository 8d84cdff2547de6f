-- How many accounts or positions are long, and what takers bought and sold, per bucket, as the venues publish it.
{{ staged_rows('staged_ratios') }}
