"""Formats that several venues share: number spellings, candle rows, settlements, the Korean markets."""
