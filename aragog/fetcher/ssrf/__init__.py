"""The SSRF filter: which URLs and addresses the fetcher may connect to."""
