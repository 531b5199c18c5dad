"""
Estimate the machines and storage that a crawl needs: `aragog plan`
(docs/performance.md#scale).
"""

COMMANDS = {
    "plan": (
        "aragog.addons.plan.command",
        "plan",
        (
            "Compute what a crawl needs (machines, Redis, HBase or PostgreSQL, S3) and its first "
            "bottleneck."
        ),
    ),
}
