-- Exchange rates of currencies as their sources publish them.
{{ staged_rows('staged_fx') }}
