"""Which way out the requests of a job take."""

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
    What the rules need to know of jobs.

    Args:
        rules: of this process.
        checks: know the names of crawls; read only where a rule or a proxy asks for them.
        by_crawl: one of them does.
    """

    rules: EgressRules = NO_RULES
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    by_crawl: bool = False

    def choice(self, job: UrlJob) -> EgressChoice:
        """The properties that choose the way out of a job's next request."""
        if not (self.by_crawl or job.after_status):
            return ANY
        crawl = self.checks.crawl_of(job).name if self.by_crawl and job.crawl else ""
        return EgressChoice(crawl, job.after_status)

    def changes_after(self, job: UrlJob, outcome: Outcome, status: int) -> bool:
        """Whether the attempt after this status takes another way than the one before did."""
        url = outcome.final_url or job.next_url
        return self.rules.changes_after(url, self.choice(job), status)
