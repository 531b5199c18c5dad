"""Posting lists: the packed inlinks of URLs; short ones in groups, long ones in their own rows."""
