"""The machines and storage that a crawl needs: `aragog plan` (docs/scale.md)."""
