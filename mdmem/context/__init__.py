"""The block of an agent's prompt: the memory that it shows, within a budget.

`gather` asks index and files, and alone does I/O; `parts` ranks what each part could show, chooses
what fits, and writes it.
"""
