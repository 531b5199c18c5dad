"""Chooses the egress routes (such as proxies) for a job's requests."""

from __future__ import annotations

from dataclasses import dataclass, field

from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext, EgressRules
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.fetch_record.outcome import Outcome
from aragog.settings import EgressSettings

NO_RULES = EgressRules(EgressSettings(), has_proxy=False)


@dataclass(frozen=True, slots=True)
class JobEgress:
    """
    Applies the egress rules to jobs.

    Args:
        checks: knows the names of crawls.
        depends_on_crawl: True if a rule or a proxy depends on the crawl.
    """

    rules: EgressRules = NO_RULES
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    depends_on_crawl: bool = False

    def context(self, job: UrlJob) -> EgressContext:
        """Return what the egress rules need to know about a job's next request."""
        if not (self.depends_on_crawl or job.after_status):
            return ANY_CONTEXT
        crawl = self.checks.get_crawl(job).name if self.depends_on_crawl and job.crawl else ""
        return EgressContext(crawl, job.after_status)

    def routes_differ(self, job: UrlJob, outcome: Outcome, status: int) -> bool:
        """Return True if a retry after this status uses other routes than the previous attempt."""
        url = outcome.final_url or job.next_url
        return self.rules.routes_differ(url, self.context(job), status)
