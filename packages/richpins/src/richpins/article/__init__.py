"""Private to `main_text`: the tree that a library reads, and what is written of it."""
