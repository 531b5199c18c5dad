"""Read facts that every page type has: title, site name, image, authors, dates."""
