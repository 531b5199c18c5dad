"""Reading and matching the lines of a robots.txt."""
