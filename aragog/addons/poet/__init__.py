"""web-poet page objects for stored pages, without a fetch (docs/coming-from.md#scrapy)."""

COMMANDS = {
    "page-objects": (
        "aragog.addons.poet.command",
        "page_objects",
        "Write what a page object of web-poet reads from stored pages to FILE; nothing is fetched.",
    ),
}
