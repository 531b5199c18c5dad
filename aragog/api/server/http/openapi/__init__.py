"""
The OpenAPI document of the API, and the JSON schemas of its bodies.

Public:

    document  the document
    schemas   schemas of parameters, bodies and responses, from the table of operations
    examples  examples of requests and responses
"""
