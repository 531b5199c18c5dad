"""Read what pages of all types have: title, site name, image, authors, dates."""
