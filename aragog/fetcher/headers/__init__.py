"""What response headers say: media type, Location, Retry-After, dates. Pure."""
