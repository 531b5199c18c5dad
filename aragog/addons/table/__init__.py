"""Maintain a current table of pages or items: Delta Lake, local or in S3 (docs/exports.md)."""

COMMANDS = {
    "table": (
        "aragog.addons.table.command",
        "table",
        "Keep a table of pages or items current in PLACE, a folder or s3://BUCKET/PREFIX.",
    ),
}
