"""The web page, for one person on one machine to read memory and to decide on changes.

Its modules need packages of an extra (`require_packages`).
"""

from mdmem.folder import installed


def require_packages(for_export: bool = False) -> None:
    """Raises PackageProblem (`missing-package`)."""
    names = ("jinja2",) if for_export else ("jinja2", "starlette", "uvicorn")
    installed.require_packages(names, "the page needs its extra", "page")
