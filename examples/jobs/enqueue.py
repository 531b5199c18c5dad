"""Enqueue a few jobs. The first argument is the folder that they work in."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.jobs.app import greet, resize
from pinlater import publish_receipts

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
letters = str(folder / "letters.txt")

greet.delay("Ada", letters)
greet.apply_async(("Grace", letters), countdown=1)
with publish_receipts.collect_receipts() as receipts:
    for _ in range(2):
        resize.apply_async((str(folder / "cat.img"), 10), unique_key=f"resize {folder}/cat.img")
for receipt in receipts:
    print("resize:", "already there" if receipt.already_there else "enqueued")
