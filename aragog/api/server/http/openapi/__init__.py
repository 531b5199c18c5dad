"""
The OpenAPI document of the API, and the JSON schemas of its bodies.

Public:

    document  the document
    schemas   schemas of parameters, bodies and answers, by the table
    examples  examples of requests and answers
"""
