"""The API against requests that schemathesis generates from its OpenAPI document."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error, positive_data_acceptance

from aragog.api.operations.batch_progress import BatchTracker
from aragog.api.operations.jobs import Jobs
from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.http.services import Services
from aragog.crawl.pipeline.url_batches import UrlBatches
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.overrides import Overrides
from aragog.settings import PolitenessSettings
from pinlater.cluster import Cluster, connect_shards
from tests.api_examples import explain
from tests.support.api_server import running
from tests.support.serving import served_page

pytestmark = [pytest.mark.redis, pytest.mark.slow]

A = "http://a.test/"
EXAMPLES = 8
"""Requests per operation."""
schema = schemathesis.openapi.from_dict(DOCUMENT)


@pytest.fixture
def api(pipeline_harness, redis_client, redis_url):
    store, enqueue, fetching = served_page(pipeline_harness, redis_client, A)
    limiter = Limiter((redis_url,), PolitenessSettings(), Overrides(None), "t:")
    batches = BatchTracker(UrlBatches(redis_client, prefix="t:"), lambda: limiter)
    jobs = Jobs(Cluster(connect_shards([redis_url.replace("db=0", "db=1")])))
    services = Services(
        enqueue=enqueue, fetching=fetching, batches=batches, jobs=jobs, explain=explain
    )
    with running(store, services) as server:
        yield server
    jobs.close()
    fetching.close()
    limiter.close()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    phases=(Phase.explicit, Phase.generate),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_response_is_declared_in_the_document(case, api):
    """
    No 5xx except those declared for a missing service, correct types, and bodies that match their
    schema.
    """
    # A schema cannot say which strings are URLs, so a valid request may still get a 400. The server
    # here has no crawls, so a valid request for one gets a 501, which the document declares.
    response = case.call_and_validate(
        base_url=f"http://127.0.0.1:{api.port}",
        timeout=60,
        excluded_checks=[positive_data_acceptance, not_a_server_error],
    )

    assert response.status_code < 500 or response.status_code == 501
    operation = DOCUMENT["paths"][case.path].get(case.method.lower())
    others = ["204"] if case.method == "OPTIONS" else ["405"]
    assert str(response.status_code) in (operation["responses"] if operation else others)
