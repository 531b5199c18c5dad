"""The API's HTML pages."""
