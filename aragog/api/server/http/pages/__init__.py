"""The API's HTML pages, with their layout and style, and the reference at `/docs`."""
