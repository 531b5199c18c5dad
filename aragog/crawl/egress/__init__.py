"""
Egress: which way out a request takes, and which ways work.

Public:

    choice   `EgressChoice`, `EgressRules`: the ways of a URL by the rules; pure
    ways     `Way`, `ProxyServer`: a way out, its proxy and the proxy's login
    health   `WayHealth`: which ways fail, and when each is tried again
    board    `WayBoard`: failing ways of all processes, for display
    egress   `Egress`: all ways out of one process
"""
