"""web-poet page objects for stored pages, without a fetch (docs/coming-from.md#scrapy)."""

COMMANDS = {
    "page-objects": (
        "aragog.addons.poet.command",
        "page_objects",
        "Apply a web-poet page object to stored pages, and write the results to FILE.",
    ),
}
