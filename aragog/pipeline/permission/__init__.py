"""What may be enqueued and fetched now: rules, robots.txt, slots, takedowns, and room in Redis."""
