"""
The crawler's identity: its keys, signed requests, and published files.

Public:

    keys                reads and writes the key file
    request_signer      signs requests, with Web Bot Auth
    signature_base      builds the string that a signature covers
    signature_requests  parses the signatures that a server requests
    published_files     the key directory, the page about the crawler, the address list
    directory_check     compares a published directory with the keys
"""
