"""Settings of the measurement, not written by the user: every name resolves to this machine."""

from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer


class LoopbackResolver(CachingThreadedResolver):
    def getHostByName(self, name, timeout=()):
        return defer.succeed("127.0.0.1")


DNS_RESOLVER = LoopbackResolver
LOG_LEVEL = "INFO"  # the default prints every item
TELNETCONSOLE_ENABLED = False
