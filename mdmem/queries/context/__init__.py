"""The block of an agent's prompt: what of memory goes into it, within a budget.

`gather` asks index and files; `parts` makes of their answers what each part could show, best first;
`budget` chooses; `text` writes. Only `gather` touches the world.
"""
