"""Enqueue pages for other languages: `python -m examples.job_exchange.produce FROM TO`."""

from __future__ import annotations

import sys

from examples.job_exchange.app import app, print_page

with app.connection_for_write() as connection:
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        # Safe to start again: a page that waits or is being printed is not enqueued twice.
        print_page.apply_async((number,), connection=connection, unique_key=f"page {number}")
        print("enqueued", number + 1, flush=True)
