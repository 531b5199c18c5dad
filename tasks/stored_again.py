"""
Handle URLs that callers pass to the tasks `canonicalize` and `store`; see
aragog.crawl.stages.stored_page_rewriter.
"""

from __future__ import annotations

import logging

from aragog.errors import InvalidMessage
from aragog.workers.services import pipeline

log = logging.getLogger(__name__)


def write_again(task: str, message: str | list[str]) -> None:
    """
    Process the stored pages of one or more URLs again.

    Raises:
        InvalidMessage: none of the URLs has a page.
    """
    urls = [message] if isinstance(message, str) else message
    problems = pipeline().stored_page_rewriter.run(urls)
    if problems and len(problems) == len(urls):
        raise InvalidMessage(task, "; ".join(problems))
    for problem in problems:
        log.error("%s: %s", task, problem)
