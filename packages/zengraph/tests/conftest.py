"""Test settings. Fixtures live next to the servers they start, in support/."""

from hypothesis import HealthCheck, settings

# No deadlines: a slow run on a busy machine is not a failure.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", settings.get_profile("house"), derandomize=False, max_examples=3_000
)
settings.load_profile("house")

pytest_plugins = ["support.postgres_server", "support.engines"]
