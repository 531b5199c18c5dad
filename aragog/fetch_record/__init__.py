"""
The record of a fetch, passed from the socket to the store and the crawl log.

Public:

    outcome       `FetchRecord`, and one class per outcome
    causes        why a request was deferred or refused
    known_fields  reads records that other versions wrote
"""
