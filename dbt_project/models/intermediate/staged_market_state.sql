-- What the venues say about their markets in the window: prices, turnover, open interest, funding, as published.
-- Several kinds of a venue may each bring a part of a market's state.
{{ staged_rows('staged_market_state') }}
