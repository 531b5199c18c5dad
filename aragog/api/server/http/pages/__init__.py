"""HTML pages of the API for people: their layout and style, and the reference at `/docs`."""
