"""Recording of the venues: HTTP, WebSocket and the landing. Imports nothing of dagster, dbt, serve or orchestration."""
