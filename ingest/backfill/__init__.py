"""The venues' past: which spans are wanted, which are fetched already, and the process that fetches the rest."""
