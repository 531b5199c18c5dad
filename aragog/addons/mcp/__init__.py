"""The operations as tools for language models: `aragog mcp` (docs/http.md)."""

COMMANDS = {
    "mcp": (
        "aragog.addons.mcp.command",
        "mcp_command",
        "Offer the store and the fetcher to language models, over the Model Context Protocol.",
    ),
}
