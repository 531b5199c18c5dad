"""Rate limits per domain: slots, permits, overrides and feedback."""
