"""Choose the proxy or address from which a job's requests are sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from aragog.crawl.egress.choice import ANY, EgressChoice, EgressRules
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.fetch_record.outcome import Outcome
from aragog.settings import EgressSettings

NO_RULES = EgressRules(EgressSettings(), has_proxy=False)


@dataclass(frozen=True, slots=True)
class JobEgress:
    """
    Gives the egress rules what they need to know about a job.

    Args:
        rules: the egress rules of this process.
        checks: knows the names of crawls. Used only if a rule or a proxy depends on the crawl.
        by_crawl: True if a rule or a proxy depends on the crawl.
    """

    rules: EgressRules = NO_RULES
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    by_crawl: bool = False

    def choice(self, job: UrlJob) -> EgressChoice:
        """The properties of the job that select the egress for its next request."""
        if not (self.by_crawl or job.after_status):
            return ANY
        crawl = self.checks.crawl_of(job).name if self.by_crawl and job.crawl else ""
        return EgressChoice(crawl, job.after_status)

    def changes_after(self, job: UrlJob, outcome: Outcome, status: int) -> bool:
        """Whether the attempt after this status uses another egress than the last attempt."""
        url = outcome.final_url or job.next_url
        return self.rules.changes_after(url, self.choice(job), status)
