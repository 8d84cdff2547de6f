{{ staged_rows('staged_marks') }}
