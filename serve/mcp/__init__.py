"""POST /mcp: the protocol, and the tools in `tools/`."""
