"""`python -m mdmem.githooks`."""

from mdmem.githooks import start

if __name__ == "__main__":
    start()
