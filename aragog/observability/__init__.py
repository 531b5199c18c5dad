"""What aragog reports of itself: logs, metrics and traces."""
