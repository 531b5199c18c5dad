"""The spool: where bodies wait between two stages, within bounds."""
