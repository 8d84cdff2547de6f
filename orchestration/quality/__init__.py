"""Data quality: what the landing and the marts must look like, checked every hour and day with Great Expectations.

Great Expectations takes seconds to import: only `validation` and `pages` import it, and only the process that `run`
is. Whoever else needs to know what is checked reads `declared`.
"""
