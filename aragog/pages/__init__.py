"""Parse a page once and extract its links, canonical URL evidence and Rich Pin. No I/O."""
