"""Typed values: dates, durations, numbers, titles, images. Pure."""
