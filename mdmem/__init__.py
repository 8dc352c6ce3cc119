"""mdmem: an agent's long-term memory in Markdown files, with git as its history.

The library begins with `mdmem.open` (docs/library.md); a name is loaded when it is first used.
"""

__version__ = "0.4.0"

_NAMES = {
    "library": "AsyncMemory Memory open",
    "model": "Source Status",
    "model.errors": "MdmemError",
    "model.history": "FactHistory SectionHistory ShowHistory",
    "model.prompts": "BuildContext ContextBlock",
    "model.reads": "SectionView Show",
    "model.searches": "FactList Hit ListFacts Search SearchResult",
    "model.writes": "EditSection Forget Log Remember Revert WriteOptions WriteResult",
}
_HOMES = {"errors": "errors"} | {
    name: home for home, names in _NAMES.items() for name in names.split()
}
__all__ = [*_HOMES]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'mdmem' has no attribute {name!r}")
    # every command imports this package, and few need this
    from importlib import import_module  # noqa: PLC0415

    home = import_module(f"mdmem.{_HOMES[name]}")
    return home if name == "errors" else getattr(home, name)
