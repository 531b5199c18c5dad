"""Canonical URLs: evidence, guards and the decision. Pure."""
