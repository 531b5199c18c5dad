"""
Chooses each request's egress route (a proxy or a local address), and skips failing routes.

Public:

    rules           `EgressRules`: chooses the routes for a URL
    routes          `EgressRoute`, `ProxyServer`: a route, its proxy and the proxy's credentials
    health          `EgressHealth`: which routes are failing, and when to retry them
    failing_routes  `FailingRoutes`: which routes are failing in any process, for display
    egress          `Egress`: all routes of one process
"""
