"""aragog: a distributed, polite fetcher and store for billions of URLs."""

from aragog.runtime.moved_names import install

install()
del install
