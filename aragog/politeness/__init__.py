"""How fast a domain may be asked, and what its robots.txt allows."""
