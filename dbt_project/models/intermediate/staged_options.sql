-- What the venues say about their options on BTC and ETH. Several kinds of a venue may each bring a part.
{{ staged_rows('staged_options') }}
