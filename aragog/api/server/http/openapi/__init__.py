"""The OpenAPI document of the API, and the JSON schemas of its bodies."""
