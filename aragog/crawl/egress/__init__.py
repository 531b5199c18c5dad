"""
Egress: which way out a request takes, and which ways work.

Public:

    choice   `EgressChoice`, `EgressRules`: the ways of a URL by the rules; pure
    ways     `Way`, `ProxyServer`: a way out and its proxy, with the login from where it is kept
    health   `WayHealth`: which ways fail, and when each is tried again
    board    `WayBoard`: failing ways of all processes, for people
    egress   `Egress`: all of it for one process
"""
