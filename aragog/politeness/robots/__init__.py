"""robots.txt: parsing, matching and the shared cache of rules."""
