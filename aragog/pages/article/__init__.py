"""Private to `aragog.pages.main_text`: the tree that a library reads, and what is written of it."""
