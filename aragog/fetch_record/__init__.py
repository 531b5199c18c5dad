"""
The record of a fetch and its outcomes, from the socket to the store and the crawl log.

Public:

    outcome       `FetchRecord`, and one class for each outcome
    causes        why a request was postponed or refused
    known_fields  reading records of other versions
"""
