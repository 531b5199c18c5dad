"""The addresses, processes and settings of all hosts."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.api.operations.scopes import READ
from aragog.api.server.tokens import new_token
from deploy.hosts.cluster import redis_url, s3_settings, store_settings
from tests.fleet.sites import BASE_INTERVAL_MS

NETWORK = "10.204.0.0/24"
LOCAL_ADDRESS = "10.204.0.250"
WEB, DATA, FRONT = "10.204.0.2", "10.204.0.3", "10.204.0.4"
WEB_PORT, API_PORT = 8080, 8100
REDIS = {"redis1": 7001, "redis2": 7002, "redis3": 7003}
APIS = ("api1", "api2")
MIN_HOSTS, MAX_HOSTS = len(APIS) + 3, 60
"""Three workers are the fewest: two have shifted clocks, and the other checks everything."""
CLAIM_TIMEOUT_S = 10
FAST_S, SLOW_S = 300, -300
"""Clock shifts of two worker machines."""


@dataclass(frozen=True)
class Layout:
    """
    A fleet: two API machines, and workers on all others.

    Args:
        hosts: the number of aragog machines, from `MIN_HOSTS` to `MAX_HOSTS`: two for the API,
            two workers with shifted clocks, and the worker that checks everything. The web, the
            data servers and the balancer have additional hosts.
        engine: `postgres` or `hbase`.
    """

    hosts: int
    engine: str

    @property
    def workers(self) -> tuple[str, ...]:
        """Return the hosts with workers of all roles. The first also runs beat."""
        return tuple(f"w{n}" for n in range(1, self.hosts - len(APIS) + 1))

    @property
    def addresses(self) -> dict[str, str]:
        """Return the address of each host."""
        machines = {name: f"10.204.0.{11 + n}" for n, name in enumerate((*APIS, *self.workers))}
        return {"web": WEB, "data": DATA, "front": FRONT, **machines}

    @property
    def shifts_s(self) -> dict[str, int]:
        """Return the clock shifts of single hosts."""
        return {self.workers[-1]: FAST_S, self.workers[-2]: SLOW_S}


def settings(layout: Layout) -> tuple[dict[str, str], str]:
    """Return the settings of all hosts as environment variables, and a token for reads."""
    token, entry = new_token("reader", [READ])
    urls = {name: redis_url(DATA, port) for name, port in REDIS.items()}
    return {
        "ARAGOG_SETTINGS": "",
        **store_settings(layout.engine, DATA),
        **s3_settings(DATA),
        "ARAGOG_REDIS__URL": urls["redis1"],
        "ARAGOG_BROKER__URL": redis_url(DATA, REDIS["redis1"], "pinlater"),
        "ARAGOG_BROKER__SHARDS": f"{urls['redis2']},{urls['redis3']}",
        "ARAGOG_BROKER__CLAIM_TIMEOUT_S": str(CLAIM_TIMEOUT_S),
        "ARAGOG_POLITENESS__LIMITER_URLS": f"{urls['redis2']},{urls['redis3']}",
        "ARAGOG_POLITENESS__QPS": str(1000 / BASE_INTERVAL_MS),
        "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "2",
        "ARAGOG_FETCH__HOST_MAP": f"*.test={WEB}:{WEB_PORT}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": NETWORK,
        "ARAGOG_FETCH__USER_AGENT": "aragog-fleet/1.0 (+http://127.0.0.1/)",
        "ARAGOG_FETCH__CONNECT_TIMEOUT_S": "2",
        "ARAGOG_FETCH__READ_TIMEOUT_S": "3",
        "ARAGOG_PIPELINE__RETRY_FIRST_S": "1",
        "ARAGOG_PIPELINE__MAX_ATTEMPTS": "10",
        # Bodies of killed fetches are freed this long after their last use, at the next sweep.
        "ARAGOG_PIPELINE__SPOOL_TTL_S": "45",
        "ARAGOG_SERVING__TOKENS": entry,
        # The balancer has one address for all clients.
        "ARAGOG_SERVING__MAX_CONNECTIONS_PER_ADDRESS": "0",
        "C_FORCE_ROOT": "1",
    }, token
