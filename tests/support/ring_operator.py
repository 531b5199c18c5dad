"""
Change the limiter's ring in a process of its own, which may be killed at any moment.

    python -m tests.support.ring_operator SHARED|LEASE_S|NODE[,NODE] add|drain|remove|lose|finish NODE

Exits with 3 if a server does not answer, with 4 if the change makes no sense for the ring of now.
"""

from __future__ import annotations

import sys
import time

from aragog.crawl.politeness.limiter_ring import LimiterRing
from aragog.errors import BAD_INPUT, LimiterUnavailable
from aragog.settings import PolitenessSettings


def main(where: str, action: str, node: str = "") -> None:
    shared, lease_s, nodes = where.split("|")
    ring = LimiterRing(
        nodes.split(","),
        PolitenessSettings(),
        shared=shared,
        lease_s=float(lease_s),
        sleep_s=time.sleep,
    )
    try:
        if action == "lose":
            ring.remove(node, lost=True)
        elif action == "finish":
            ring.finish()
        else:
            getattr(ring, action)(node)
    except LimiterUnavailable as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    except BAD_INPUT as error:
        print(error, file=sys.stderr)
        sys.exit(4)
    finally:
        ring.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
