"""Fixtures are kept beside the servers they start, in support/."""

from hypothesis import HealthCheck, settings

# A busy machine is no fault: nothing that is slow for once may fail.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", settings.get_profile("house"), derandomize=False, max_examples=3_000
)
settings.load_profile("house")

pytest_plugins = ["support.postgres_server", "support.engines"]
