"""Aliases: which URLs stand for another."""
