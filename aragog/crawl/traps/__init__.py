"""
Recognizes crawler traps: links to ever more pages that bring nothing new.

Public: traits, templates, template_states, host_budget, held_links, trap_store.
"""
