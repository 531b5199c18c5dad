"""Internals of `main_text`: build trafilatura's input tree, and write the text that it selects."""
