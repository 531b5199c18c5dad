"""
Add-ons, one per folder; the rest of aragog imports none of them.

To remove an add-on, delete its folder here, its extra in pyproject.toml and its page in docs/. An
add-on may import any part of aragog, but no other add-on. The command line discovers the commands
and formats that add-ons provide (`aragog.cli.addons`).
"""
