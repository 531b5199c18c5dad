"""Bearer tokens: their scopes, their rate limits, and the fields that they may write."""
