"""
Text of made-up words, with the frequencies of true text (Zipf), a topic per text, names and numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from random import Random

ONSETS = [
    "b",
    "bl",
    "br",
    "c",
    "ch",
    "cl",
    "cr",
    "d",
    "dr",
    "f",
    "fl",
    "fr",
    "g",
    "gl",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "ph",
    "pl",
    "pr",
    "qu",
    "r",
    "s",
    "sc",
    "sh",
    "sl",
    "sp",
    "st",
    "str",
    "t",
    "th",
    "tr",
    "v",
    "w",
    "wh",
    "y",
    "z",
]
VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "ie", "oa", "oo", "ou", "ay", "ey"]
ENDS = [
    "b",
    "ck",
    "d",
    "ff",
    "g",
    "ld",
    "ll",
    "m",
    "mp",
    "n",
    "nd",
    "ng",
    "nt",
    "p",
    "r",
    "rd",
    "rk",
    "rn",
    "rt",
    "s",
    "sh",
    "sk",
    "ss",
    "st",
    "t",
    "tch",
    "th",
    "x",
]
ENDINGS = ("", "", "", "ed", "er", "ing", "ly", "ness", "s", "able", "ful", "ment")


def made_up_words(seed: str, count: int, syllables: tuple[int, int]) -> list[str]:
    """Return different words that can be pronounced, the same for each call."""
    random, words = Random(seed), dict[str, None]()
    while len(words) < count:
        parts = [
            random.choice(ONSETS) + random.choice(VOWELS) + random.choice(("", random.choice(ENDS)))
            for _ in range(random.randint(*syllables))
        ]
        words["".join(parts) + random.choice(ENDINGS)] = None
    return list(words)


WORDS = made_up_words("words", 32_500, (1, 3))
FIRST = [word.capitalize() for word in made_up_words("first names", 778, (1, 2))]
LAST = [word.capitalize() for word in made_up_words("last names", 1_118, (1, 2))]
N = len(WORDS)
LN = math.log(N)

# X a word of the text, N a name, P a place, # a number, Y a year
SHAPES = [
    "the X of the X was X in Y by N",
    "it is not the X that X but the X",
    "N said that the X would X the X before the X",
    "most of the X in P are X and X",
    "there are # X in the X , of which # are X",
    "if you X the X , the X will X",
    "after the X , N and N went to P to X the X",
    "we X our X with X and X since Y",
    "a X X is the best way to X your X",
    "the X X , the X X and the X was X",
    "in P , where N was X , a X of # X was found",
    "for more X , X the X or ask at the X",
    "this X comes with a X and # X",
    "you can X it at any X without X",
    "nobody in P had seen such a X since Y",
    "what makes the X X is its X X",
    "in Y the X was X , and its X became X",
    "to X a X , first X the X , then X it for # minutes",
    "both X and X are part of the X",
    "many X have X their X to the X of P",
    "it takes # X to X one X",
    "N , a X from P , calls it X and X",
    "the X between the X and the X is X",
    "as with every X , X matters more than X",
    "because the X was X , they had to X the X",
    "her X , like that of N , is full of X",
    "this is why X and X rarely X",
    "he X # X a day , mostly X",
    "according to the X , # percent of the X are X",
    "the X opened in Y with X and a X",
    "only a X could X such a X",
    "X , X and X are welcome",
    "it was X who first X the X at P",
    "no X is needed when the X is X",
    "in the X of the X you see X and a X X",
    "the new X replaces the X from Y",
]
CAP = str.capitalize


@lru_cache(100)
def site_words(host: str) -> tuple[int, int]:
    r = Random(host)
    k = r.randrange(3, N, 2)
    while math.gcd(k, N) != 1:
        k += 2
    return k, r.randrange(N)


class Text:
    """Text of a seed, within the vocabulary of a host."""

    def __init__(self, host: str, seed: object, topic: int = 12) -> None:
        self.r = Random(f"{host}|{seed}")
        self.k, self.o = site_words(host)
        self.topic = [self.raw() for _ in range(topic)]

    def raw(self) -> str:
        rank = int(math.exp(self.r.random() * LN))
        return WORDS[(rank * self.k + self.o) % N]

    def word(self) -> str:
        return self.r.choice(self.topic) if self.topic and self.r.random() < 0.4 else self.raw()

    def rare(self) -> str:
        return WORDS[self.r.randrange(N)]

    def person(self) -> str:
        return f"{self.r.choice(FIRST)} {self.r.choice(LAST)}"

    def surname(self) -> str:
        return self.r.choice(LAST)

    def place(self) -> str:
        return CAP(self.r.choice(LAST).lower()) + self.r.choice(
            ("ton", " Hill", "by", "ford", " Bay", "stead", " Cross", "mouth", "", "ham")
        )

    def num(self, a: int = 2, b: int = 900) -> int:
        return self.r.randint(a, b)

    def sentence(self) -> str:
        out = []
        for s in self.r.choice(SHAPES).split(" "):
            if s == "X":
                out.append(self.word())
            elif s == "N":
                out.append(self.person())
            elif s == "P":
                out.append(self.place())
            elif s == "#":
                out.append(str(self.num()))
            elif s == "Y":
                out.append(str(self.num(1840, 2026)))
            else:
                out.append(s)
        text = " ".join(out).replace(" ,", ",")
        return text[0].upper() + text[1:] + "."

    def para(self, n: int = 0) -> str:
        return " ".join(self.sentence() for _ in range(n or self.r.randint(2, 6)))

    def paras(self, a: int, b: int) -> str:
        return "".join(f"<p>{self.para()}</p>" for _ in range(self.r.randint(a, b)))

    def title(self, a: int = 2, b: int = 6) -> str:
        w = [self.word() for _ in range(self.r.randint(a, b))]
        if self.r.random() < 0.3:
            w.insert(1, self.r.choice(("and", "of the", "in", "for", "without", "or")))
        if self.r.random() < 0.2:
            w.append("in " + self.place())
        return CAP(w[0]) + " " + " ".join(w[1:])

    def pick(self, seq):
        return self.r.choice(seq)


def slug(text: str) -> str:
    return "-".join(
        "".join(c if c.isalnum() else " " for c in text.lower().replace("'", "")).split()
    )
