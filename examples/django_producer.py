"""
A Django project whose links are enqueued once they are committed.

    python examples/django_producer.py http://shop.example/p/1

It is one file with an in-memory database, so that it runs as it is. In a project, the function
`enqueue_link` is a receiver of `post_save` in an app's signals module.
"""

from __future__ import annotations

import sys

import django
from django.conf import settings
from django.db import connection, models, transaction
from django.db.models.signals import post_save
from django.dispatch import receiver

from aragog.client import Aragog

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

aragog = Aragog()


class Link(models.Model):
    """A link that somebody saved."""

    url = models.URLField()

    class Meta:
        """A model outside an app names one."""

        app_label = "links"

    def __str__(self) -> str:
        return self.url


@receiver(post_save, sender=Link)
def enqueue_link(instance: Link, *, created: bool, **_: object) -> None:
    """Fetch a new link; after the commit, or the crawler could be faster than the database."""
    if created:
        transaction.on_commit(lambda: _enqueue(instance.url))


def _enqueue(url: str) -> None:
    (result,) = aragog.enqueue([url], priority=2)
    print(f"{result.status}: {result.url}")


if __name__ == "__main__":
    with connection.schema_editor() as schema:
        schema.create_model(Link)
    with transaction.atomic():
        for url in sys.argv[1:]:
            Link.objects.create(url=url)
        print("saved, not committed")
    aragog.close()
