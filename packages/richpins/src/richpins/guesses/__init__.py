"""
Guess rules for items from a few example pages. No I/O.

    guess = guess_rules([parse(body, url=url) for url, body in examples])
    guess.kinds[0].name       # "card"
    guess.kinds[0].table      # {"pages": …, "each": "css:.card", "fields": {"price": …}, …}
    guess.kinds[0].items      # 20, the number of items that the table finds on the examples
    guess.embedded            # {"product.price": "json-ld"}, fields that need no rule

A table is input for `richpins.items.kind_of`; review it before use. Selectors use classes and
attributes that the site's authors wrote, never positions or generated names. They therefore also
work on other pages and after the site's next release.
"""

from richpins.guesses._guess import Guess, GuessedKind, guess_rules

__all__ = ["Guess", "GuessedKind", "guess_rules"]
