"""Data quality: expectations on the landing and the marts, checked every hour and every day with Great Expectations.

Great Expectations takes seconds to import: only `validation` and `pages` import it, and only in the process of `run`.
Other code reads the list of checks from `suites`.
"""
