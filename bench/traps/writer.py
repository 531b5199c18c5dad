"""
Text for made-up pages. A seed always gives the same words, and two seeds rarely share a
sentence.
"""

from __future__ import annotations

from random import Random

NOUNS = [
    "harbor",
    "bridge",
    "council",
    "market",
    "garden",
    "library",
    "school",
    "river",
    "valley",
    "orchestra",
    "museum",
    "station",
    "factory",
    "farmer",
    "teacher",
    "engineer",
    "painter",
    "volunteer",
    "neighbor",
    "committee",
    "budget",
    "proposal",
    "survey",
    "report",
    "letter",
    "kitchen",
    "workshop",
    "bicycle",
    "tram",
    "ferry",
    "lantern",
    "roof",
    "window",
    "cellar",
    "staircase",
    "chimney",
    "fence",
    "meadow",
    "orchard",
    "beehive",
    "mushroom",
    "barley",
    "linen",
    "copper",
    "timber",
    "granite",
    "pottery",
    "compass",
    "almanac",
    "notebook",
    "ledger",
    "archive",
    "festival",
    "parade",
    "concert",
    "rehearsal",
    "exhibition",
    "lecture",
    "debate",
    "election",
    "referendum",
    "contract",
    "lease",
    "permit",
    "glacier",
    "estuary",
    "canal",
    "reservoir",
    "dam",
    "turbine",
    "pipeline",
    "sensor",
    "antenna",
    "satellite",
    "telescope",
    "microscope",
    "recipe",
    "dough",
    "broth",
    "pepper",
    "saffron",
    "vinegar",
    "walnut",
    "plum",
    "apricot",
    "herring",
    "lobster",
    "oyster",
    "sparrow",
    "heron",
    "badger",
    "otter",
    "lynx",
    "beech",
    "willow",
    "spruce",
    "juniper",
    "fern",
    "moss",
    "lichen",
    "clay",
    "slate",
    "chalk",
    "amber",
    "quartz",
    "basalt",
]
VERBS = [
    "opens",
    "closes",
    "moves",
    "repairs",
    "measures",
    "paints",
    "carries",
    "records",
    "delivers",
    "explains",
    "replaces",
    "collects",
    "protects",
    "divides",
    "restores",
    "borrows",
    "returns",
    "examines",
    "publishes",
    "rejects",
    "approves",
    "delays",
    "supports",
    "follows",
    "inspects",
    "surrounds",
    "connects",
    "separates",
    "improves",
    "cancels",
    "extends",
    "describes",
    "questions",
]
ADJECTIVES = [
    "narrow",
    "old",
    "quiet",
    "public",
    "wooden",
    "northern",
    "expensive",
    "careful",
    "sudden",
    "annual",
    "hidden",
    "empty",
    "crowded",
    "local",
    "temporary",
    "famous",
    "broken",
    "modest",
    "foggy",
    "shallow",
    "steep",
    "bright",
    "patient",
    "ordinary",
    "former",
    "younger",
    "regional",
    "electric",
    "seasonal",
    "uneven",
    "generous",
    "practical",
    "forgotten",
    "handmade",
    "distant",
    "muddy",
    "frozen",
    "scarlet",
    "hollow",
]
ADVERBS = [
    "slowly",
    "again",
    "rarely",
    "finally",
    "together",
    "usually",
    "nearly",
    "already",
    "later",
    "twice",
    "quickly",
]
PLACES = [
    "Ardmore",
    "Belkin",
    "Corvale",
    "Dunmere",
    "Eastholt",
    "Farrow",
    "Glenside",
    "Hartwell",
    "Inverly",
    "Jessop",
    "Kelby",
    "Lindale",
    "Marlow",
    "Norwick",
    "Oakham",
    "Penrith",
    "Quayside",
    "Redcar",
    "Selby",
    "Thornby",
    "Ulverton",
    "Wexley",
    "Yarmouth",
    "Zennor",
]
NAMES = [
    "Anna",
    "Bram",
    "Clara",
    "David",
    "Elin",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Karim",
    "Lena",
    "Mira",
    "Nils",
    "Olga",
    "Pavel",
    "Rosa",
    "Sven",
    "Tilda",
    "Umar",
    "Vera",
    "Wim",
    "Yara",
    "Zoltan",
]
SYLLABLES = [
    "ba",
    "co",
    "du",
    "fe",
    "gi",
    "lo",
    "ma",
    "ne",
    "pi",
    "ra",
    "su",
    "ta",
    "vo",
    "we",
    "zi",
    "kar",
    "len",
    "mor",
    "nis",
    "tal",
    "ven",
    "dor",
    "hil",
    "pos",
]


class Writer:
    """Writes sentences, titles and words from a seed."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def word(self) -> str:
        """Return a word that is in no dictionary, for names of products, entries and packages."""
        return "".join(self.random.choice(SYLLABLES) for _ in range(self.random.randint(2, 4)))

    def person(self) -> str:
        return f"{self.random.choice(NAMES)} {self.word().capitalize()}"

    def _thing(self) -> str:
        adjective = f"{self.random.choice(ADJECTIVES)} " if self.random.random() < 0.6 else ""
        return adjective + self.random.choice(NOUNS)

    def sentence(self) -> str:
        """Return a sentence of seven to twenty words."""
        choose = self.random.choice
        form = self.random.randrange(5)
        if form == 0:
            text = f"the {self._thing()} {choose(VERBS)} the {self._thing()} of {choose(PLACES)}"
        elif form == 1:
            text = f"{self.person()} {choose(ADVERBS)} {choose(VERBS)} a {self._thing()} near the {self._thing()}"
        elif form == 2:
            text = (
                f"in {choose(PLACES)} the {self._thing()} {choose(VERBS)} the {self._thing()}, and the "
                f"{self._thing()} {choose(VERBS)} {self.random.randint(2, 90)} {choose(NOUNS)}s"
            )
        elif form == 3:
            text = f"since {self.random.randint(1870, 2025)} no {self._thing()} {choose(VERBS)} the {self._thing()}"
        else:
            text = f"a {self._thing()} {choose(VERBS)} what the {self._thing()} {choose(ADVERBS)} {choose(VERBS)}"
        return text[0].upper() + text[1:] + "."

    def paragraph(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def title(self) -> str:
        return f"The {self._thing()} and the {self._thing()} of {self.random.choice(PLACES)}"

    def paragraphs(self, least: int, most: int) -> str:
        """Return paragraphs as HTML."""
        return "".join(
            f"<p>{self.paragraph(self.random.randint(3, 6))}</p>"
            for _ in range(self.random.randint(least, most))
        )


def slug(title: str) -> str:
    """Return a title as written in a path."""
    return "-".join(
        word.lower() for word in title.split() if word.lower() not in {"the", "and", "of"}
    )
