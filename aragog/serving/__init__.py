"""The UrlStore over HTTP, for other programs (docs/http.md)."""
