"""Parts of the wire formats that several venues share: endpoints, numbers, candles, settlements, won markets."""
