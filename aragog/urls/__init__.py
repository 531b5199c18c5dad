"""URLs: spelling (normalize), site (domain), identity (canonical), keys. Pure."""
