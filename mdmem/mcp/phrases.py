"""Messages of the core in the words of this door: its arguments for fields, its tools for verbs."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem import wording
from mdmem.mcp.tools import TOOLS

_ARGUMENTS = {"replacement": "with", "workspace": "MDMEM_WORKSPACE"}
_TOOLS = {
    "search": "memory_search",
    "recall": "memory_search",
    "show": "memory_get",
    "outline": "memory_get",
    "context": "memory_context",
    "remember": "memory_remember",
    "log": "memory_log",
    "edit-section": "memory_edit",
    "forget": "memory_forget",
    "task start": "memory_task start",
    "task note": "memory_task note",
    "task done": "memory_task done",
    "task show": "memory_task show",
}
"""The tools by the names of verbs. What has no tool is said as it is typed on the command line."""


def in_arguments(text: str) -> str:
    """A message of the core in the words of the tools."""
    return wording.translate(text, _argument, _call)


def _argument(field: str) -> str:
    return _ARGUMENTS.get(field, field) if field in _FIELDS else f"{_option(field)} (command line)"


def _call(verb: str, fields: Sequence[str] = ()) -> str:
    if verb in _TOOLS:
        return " with ".join((_TOOLS[verb], *([", ".join(map(_argument, fields))] if fields else [])))
    return " ".join(("mdmem", verb, *map(_option, fields)))


def _option(field: str) -> str:
    return f"--{_OPTIONS.get(field, field.replace('_', '-'))}"


_FIELDS = frozenset(_ARGUMENTS).union(*(tool.arguments for tool in TOOLS.values()))
"""The fields that are arguments here. For another one the option of the command line is named."""
_OPTIONS = {"everything": "all", "tags": "tag", "replacement": "with"}
"""Options of the command line that are not called as their fields are."""
