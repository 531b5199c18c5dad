"""
Change the limiter's ring in a separate process, which may be killed at any time.

    python -m tests.support.ring_operator SHARED|LEASE_S|NODE[,NODE] add|drain|remove|lose|finish NODE

Exits with 3 if a server does not answer, with 4 if the current ring does not allow the change.
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
