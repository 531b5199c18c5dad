"""
Crawler traps, recognized by pages that bring nothing new.

Public: traits, templates, host_budget, held_links, trap_store.
"""
