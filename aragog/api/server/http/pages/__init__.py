"""HTML pages of the API: their layout and style, and the reference at `/docs`."""
