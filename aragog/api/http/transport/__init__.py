"""Before the routes: the HTTP/1.1 protocol, a shortcut for plain reads, and the checks."""
