"""
Traps for crawlers, recognized by what their pages bring.

Public: traits, templates, host_budget, held_links, trap_store.
"""
