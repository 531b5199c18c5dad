"""Posting lists: the packed inlinks of nodes; short ones in groups, long ones in their own rows."""
