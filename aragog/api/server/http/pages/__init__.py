"""HTML pages of the API for people: their frame and style, and the reference at `/docs`."""
