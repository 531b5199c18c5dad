"""Posting lists: the packed inlinks of nodes. Short lists share group rows; long ones do not."""
