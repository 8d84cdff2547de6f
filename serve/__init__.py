"""The read-only server: a JSON API and MCP tools over the published replica."""
