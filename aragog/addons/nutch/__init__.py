"""Import URLs from a dump of Nutch's crawldb with `aragog store import` (docs/coming-from.md)."""

READS_FORMATS = {"nutch": "aragog.addons.nutch.crawldb:read_nutch"}
