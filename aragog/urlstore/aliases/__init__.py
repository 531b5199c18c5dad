"""Aliases: URLs that stand for the same page as their canonical URL."""
