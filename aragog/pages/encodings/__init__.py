"""Character encodings of pages: labels and where a page declares one. Pure."""
