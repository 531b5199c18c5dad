"""
What happens to a URL between two queues: one module a stage, and what the stages decide with.

A task calls one stage. What travels between the stages, and what is counted of it, is in
`aragog.crawl.pipeline`, which knows no stage.
"""
