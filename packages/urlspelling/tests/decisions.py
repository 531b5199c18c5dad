"""Pages of a shop, and decisions about their canonical URLs."""

from urlspelling.canonical import Decision, Evidence, Redirect, decide

PAGE = "https://shop.example/blue-shoes?colour=blue"
OTHER_PAGE = "https://shop.example/shoes"
HOMEPAGE = "https://shop.example/"
OTHER_SITE = "https://elsewhere.test/shoes"


def decision_for(url=PAGE, **evidence) -> Decision:
    evidence.setdefault(
        "final_url", evidence["redirects"][-1].target if evidence.get("redirects") else url
    )
    return decide(Evidence(url=url, **evidence))


def redirect(url, target, *, permanent=True):
    return Redirect(url, target, permanent)


def reason_for(decision, url):
    return next(reason_for for _, rejected, reason_for in decision.rejected if rejected == url)
