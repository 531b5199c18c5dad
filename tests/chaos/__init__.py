"""
The fault suite: it breaks the real system while an independent checker watches.

`python -m tests.chaos` (or `make chaos`) runs the scenarios. `world` starts origin and system,
`scenarios` breaks them, `laws` checks what the origin saw and what is stored, `report` writes the
table of docs/reliability.md. `tests/system/test_chaos.py` runs small versions.
"""
