"""The queues of one server: the interface, Redis, memory, and the stored format of jobs."""
