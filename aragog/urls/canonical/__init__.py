"""Which URL stands for a page: evidence, guards and the decision. Pure."""
