"""
Guesses of rules for items from a few example pages. No I/O.

    guess = guessed([parse(body, url=url) for url, body in examples])
    guess.kinds[0].name       # "card"
    guess.kinds[0].table      # {"pages": …, "each": "css:.card", "fields": {"price": …}, …}
    guess.kinds[0].items      # 20, what the table finds on the examples
    guess.embedded            # {"product.price": "json-ld"}, what is read without any rule

A table is what `richpins.items.kind_of` reads, for a person to correct. Selectors are made of
classes and attributes that a site's authors wrote, never of positions or of names that a build
generated, so that they hold for other pages and after the next release of the site.
"""

from richpins.guesses._guess import Guess, GuessedKind, guessed

__all__ = ["Guess", "GuessedKind", "guessed"]
