"""Indexes of nodes: by the value of a property, by due time, by host."""
