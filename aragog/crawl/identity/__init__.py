"""
The crawler's identity: its keys, the signatures of its requests, and what it publishes.

Public:

    keys                the key file
    request_signer      signatures of requests (Web Bot Auth)
    signature_base      the text that a signature covers
    signature_requests  signatures that a server requests
    published_files     the key directory, the page, the address list
    directory_check     checks a published directory against the keys
"""
