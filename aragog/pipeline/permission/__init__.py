"""Permission to enqueue and fetch: rules, robots.txt, slots, takedowns, and room in Redis."""
