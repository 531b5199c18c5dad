"""A table of pages that stays current: a Delta Lake folder, here or in S3 (docs/table.md)."""

COMMANDS = {
    "table": (
        "aragog.addons.table.command",
        "table",
        "Keep a table of pages current in PLACE, a folder or s3://BUCKET/PREFIX.",
    ),
}
