"""`python -m mdmem.githooks`."""

from mdmem.githooks import start

start()
