"""
Egress routes. Chooses the proxy or local address for a request, and tracks which routes are
failing.

Public:

    rules           `EgressRules`: chooses the routes for a URL
    routes          `EgressRoute`, `ProxyServer`: a route, its proxy and the proxy's credentials
    health          `EgressHealth`: which routes are failing, and when to retry each one
    failing_routes  `FailingRoutes`: the failing routes of all processes, for display
    egress          `Egress`: all routes of one process
"""
