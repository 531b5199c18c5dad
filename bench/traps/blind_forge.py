"""A forge of code, where every commit has a tree of all files, and every file an annotated form."""

from __future__ import annotations

import re
from html import escape
from random import Random

from bench.traps.blind_pages import BlindSite, Page, digest, listed, modern, table, text_of
from bench.traps.site import Answer
from bench.traps.writer import Writer

COMMITS, FILES, ISSUES = 36, 26, 10
REPOSITORIES = ("kelby/pumpctl", "lena/tidegauge")
FOLDERS = ("", "src/", "src/io/", "tests/", "doc/")


class Repository:
    """Files, and commits from 1 on which each change two of them."""

    def __init__(self, name: str) -> None:
        self.name, chance = name, Writer(name)
        self.known: dict[tuple[str, int], list[str]] = {}  # each takes a millisecond to write
        self.files = [f"{FOLDERS[n % 5]}{chance.word()}{n}.py" for n in range(FILES)]
        self.changed = {
            c: Random(f"{name} {c}").sample(self.files, 2) for c in range(1, COMMITS + 1)
        }

    def commit(self, number: int) -> str:
        return digest(f"{self.name} {number}")

    def number(self, commit: str) -> int:
        return next((c for c in self.changed if self.commit(c) == commit), 0)

    def lines(self, file: str, commit: int) -> list[str]:
        """The lines of a file after a commit."""
        if (file, commit) not in self.known:
            self.known[file, commit] = self._lines(file, commit)
        return self.known[file, commit]

    def _lines(self, file: str, commit: int) -> list[str]:
        writer = Writer(f"{self.name} {file}")
        lines = [self._line(writer) for _ in range(writer.random.randint(12, 50))]
        for number in range(1, commit + 1):
            if file in self.changed[number]:
                change = Writer(f"{self.name} {file} {number}")
                lines[change.random.randrange(len(lines))] = self._line(change)
        return lines

    @staticmethod
    def _line(writer: Writer) -> str:
        indent = "    " * writer.random.randint(0, 3)
        return f"{indent}{writer.word()}_{writer.word()} = {writer.word()}({writer.word()}, {writer.random.randint(0, 99)})"

    def message(self, number: int) -> str:
        return Writer(f"{self.name} message {number}").title()


class Forge(BlindSite):
    """Real are the files of the main branch, the commits and the issues."""

    def __init__(self) -> None:
        self.repositories = {name: Repository(name) for name in REPOSITORIES}
        written = {"/": Page("Explore", listed((f"/{r}", r) for r in REPOSITORIES))}
        for repository in self.repositories.values():
            written |= self._written(repository)
        super().__init__("git.ulverton.test", written, frame=modern, menu=[("/", "Explore")])

    def _written(self, repository: Repository) -> dict[str, Page]:
        base = f"/{repository.name}"
        tabs = [(f"{base}/commits/branch/main", f"{COMMITS} commits"), (f"{base}/issues", "Issues")]
        tree = self._tree(repository, "branch/main", COMMITS)
        pages = {base: Page(repository.name, listed(tabs) + tree + text_of(f"{base} readme"))}
        commits = [
            (f"{base}/commit/{repository.commit(c)}", repository.message(c))
            for c in range(COMMITS, 0, -1)
        ]
        pages[f"{base}/commits/branch/main"] = Page(
            f"Commits of {repository.name}", listed(commits)
        )
        issues = {f"{base}/issues/{n}": Writer(f"{base} issue {n}").title() for n in range(1, ISSUES + 1)}  # fmt: skip
        pages[f"{base}/issues"] = Page(f"Issues of {repository.name}", listed(issues.items()))
        for url, title in issues.items():
            pages[url] = Page(title, text_of(url))
        for file in repository.files:
            pages[f"{base}/src/branch/main/{file}"] = Page(
                file, self._file(repository, file, "branch/main", COMMITS)
            )
        for number in range(1, COMMITS + 1):
            url = f"{base}/commit/{repository.commit(number)}"
            pages[url] = Page(repository.message(number), self._commit(repository, number))
        return pages

    def _tree(self, repository: Repository, at: str, commit: int) -> str:
        rows = []
        for file in repository.files:
            latest = max(
                (c for c in range(1, commit + 1) if file in repository.changed[c]), default=1
            )
            link = f'<a href="/{repository.name}/src/{at}/{file}">{file}</a>'
            rows.append((link, escape(repository.message(latest))))
        return table(rows)

    def _file(self, repository: Repository, file: str, at: str, commit: int) -> str:
        base = f"/{repository.name}"
        links = [
            (f"{base}/src/commit/{repository.commit(commit)}/{file}", "Permalink"),
            (f"{base}/blame/{at}/{file}", "Blame"), (f"{base}/commits/{at}/{file}", "History"),
        ]  # fmt: skip
        return f"{listed(links)}<pre>{escape(chr(10).join(repository.lines(file, commit)))}</pre>"

    def _commit(self, repository: Repository, number: int) -> str:
        base, own = f"/{repository.name}", repository.commit(number)
        links = [(f"{base}/src/commit/{own}", "Browse source")]
        if number > 1:
            links.append((f"{base}/commit/{repository.commit(number - 1)}", "Parent"))
        changes = ""
        for file in repository.changed[number]:
            before, after = (repository.lines(file, c) for c in (number - 1, number))
            changed = [f"-{a}\n+{b}" for a, b in zip(before, after, strict=True) if a != b]
            links.append((f"{base}/src/commit/{own}/{file}", f"View {file}"))
            changes += f"<h4>{file}</h4><pre>{escape(chr(10).join(changed))}</pre>"
        author = Writer(f"{own} author").person()
        return f"<p>{author} committed {own[:10]}</p>{listed(links)}{changes}"

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        match = re.fullmatch(
            r"/(\w+/\w+)/(src|blame|commits)/(branch/main|commit/([0-9a-f]{40}))(?:/(.+))?", path
        )
        if target in self.written or not match or match[1] not in self.repositories:
            return None
        repository, kind, at, file = self.repositories[match[1]], match[2], match[3], match[5]
        commit = repository.number(match[4]) if match[4] else COMMITS
        if not commit or (file and file not in repository.files):
            return None
        if kind == "commits":
            return self.in_trap(
                f"History of {file}", self._history(repository, file, commit), target
            )
        if not file:
            return self.in_trap(repository.name, self._tree(repository, at, commit), target)
        lines = repository.lines(file, commit)
        if kind == "src" and lines == repository.lines(file, COMMITS):
            name = f"/{repository.name}/src/branch/main/{file}"
            page = Page(file, self._file(repository, file, at, commit))
            return Answer(self.framed(page, target), page=name)
        main = self._file(repository, file, at, commit)
        if kind == "blame":
            main = self._blame(repository, lines, file, commit)
        return self.in_trap(file, main, target)

    def _history(self, repository: Repository, file: str | None, commit: int) -> str:
        numbers = [c for c in range(commit, 0, -1) if file is None or file in repository.changed[c]]
        base = f"/{repository.name}"
        return listed(
            link
            for c in numbers
            for link in (
                (f"{base}/commit/{repository.commit(c)}", repository.message(c)),
                (f"{base}/src/commit/{repository.commit(c)}/{file or ''}".rstrip("/"), "Browse"),
            )
        )

    def _blame(self, repository: Repository, lines: list[str], file: str, commit: int) -> str:
        chance, base = Random(file), f"/{repository.name}"
        rows = []
        for line in lines:
            number = chance.randint(1, commit)
            own = repository.commit(number)
            before = f'<a href="{base}/blame/commit/{own}/{file}">{own[:8]}</a>'
            rows.append(
                (before, escape(repository.message(number)), f"<code>{escape(line)}</code>")
            )
        return table(rows)
