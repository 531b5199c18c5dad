"""
The HTTP API of the UrlStore, with JSON bodies.

Public:

    app       the routes, as an ASGI application
    server    the server of one process
    services  what the API uses in addition to the store
    openapi   the OpenAPI document and its schemas
"""
