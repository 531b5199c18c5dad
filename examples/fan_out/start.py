"""Deliver a story to the followers of a hub: `python -m examples.fan_out.start HUB STORY`."""

import sys

from examples.fan_out.app import begin

begin(*sys.argv[1:3])
print("enqueued")
