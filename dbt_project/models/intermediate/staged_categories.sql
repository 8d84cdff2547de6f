-- What the venues say their markets are, where a body of its own says so.
{{ staged_rows('staged_categories') }}
