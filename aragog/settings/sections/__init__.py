"""The settings by section. The string below a field describes it, also in docs/settings.md."""
