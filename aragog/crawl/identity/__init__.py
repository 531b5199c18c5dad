"""
Who this crawler is: its keys, signatures of its requests, and what it publishes about itself.

Public:

    keys                the key file
    request_signer      signatures of requests (Web Bot Auth)
    signature_base      what a signature covers
    signature_requests  what a server asks to be signed
    published_files     the key directory, the page, the address list
    directory_check     whether a published directory fits the keys
"""
