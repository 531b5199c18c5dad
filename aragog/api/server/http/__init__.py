"""
The HTTP API of the UrlStore, with JSON bodies.

Public:

    app       the routes, as an ASGI application
    server    the server of one process
    services  what the API uses beside the store
    openapi   the OpenAPI document and the schemas in it
"""
