"""POST /mcp: the Model Context Protocol, and the tools in `tools/`."""
