"""The operations as tools for language models: `aragog mcp` (docs/mcp.md)."""
