"""
The record of a fetch and its outcomes, from the socket to the store and the crawl log.

Public:

    outcome       `FetchRecord`, and one class for each outcome
    causes        what a request waits for that was not sent, or what forbids it
    known_fields  how records of other versions are read
"""
