"""URLs from a dump of the crawldb of Nutch, for `aragog store import` (docs/from-nutch.md)."""
