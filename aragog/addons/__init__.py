"""
What nothing else of aragog imports: each folder is an add-on.

An add-on is deleted by deleting its folder here, its extra in pyproject.toml and its page in docs/.
It may import whatever it needs of aragog, and no other add-on. The command line finds what it
brings (`aragog.cli.addons`).
"""
