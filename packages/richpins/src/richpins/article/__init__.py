"""
Private to `main_text`: prepare the tree that trafilatura reads, and write the text it
selects.
"""
