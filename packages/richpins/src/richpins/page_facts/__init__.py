"""Read what every page has, whatever its type: title, site name, image, authors, dates."""
