"""Apply web-poet page objects to stored pages, without fetching (docs/coming-from.md#scrapy)."""

COMMANDS = {
    "page-objects": (
        "aragog.addons.poet.command",
        "page_objects",
        "Apply a web-poet page object to stored pages, and write the results to FILE.",
    ),
}
