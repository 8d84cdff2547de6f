-- Markets that the perps' index prices are made of, as the venues publish them.
{{ staged_rows('staged_index_components') }}
