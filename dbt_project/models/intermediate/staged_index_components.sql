{{ staged_rows('staged_index_components') }}
