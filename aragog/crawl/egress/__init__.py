"""
Egress routes: the proxies and local addresses that requests can use. Chooses one for each request
and tracks which ones are failing.

Public:

    rules           `EgressRules`: chooses the routes for a URL
    routes          `EgressRoute`, `ProxyServer`: a route, its proxy and the proxy's credentials
    health          `EgressHealth`: which routes are failing, and when to retry each one
    failing_routes  `FailingRoutes`: which routes are failing in any process, for display
    egress          `Egress`: all routes of one process
"""
