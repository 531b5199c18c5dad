"""Pages as a WACZ file: `aragog store export --format wacz` (docs/exports.md)."""
