"""Check the arguments of a call by the tool's definition, before anything is opened. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from mdmem.mcp.tools import TOOLS, Schema, ToolDefinition
from mdmem.model import errors
from mdmem.model.errors import UsageProblem, near_names

_ARGUMENTS = {"replacement": "with", "workspace": "MDMEM_WORKSPACE"}
# tools by verb; verbs without a tool are shown as typed on the command line
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


def in_arguments(text: str) -> str:
    return errors.translate(text, _argument, _call)


def _argument(field: str) -> str:
    if field in _FIELDS:
        return _ARGUMENTS.get(field, field)
    return f"{errors.option(field)} (command line)"


def _call(verb: str, fields: Sequence[str] = ()) -> str:
    if verb in _TOOLS:
        return " with ".join(
            (_TOOLS[verb], *([", ".join(map(_argument, fields))] if fields else []))
        )
    return errors.command(verb, fields)


# fields that are arguments; others are shown as options of the command line
_FIELDS = frozenset(_ARGUMENTS).union(*(tool.arguments for tool in TOOLS.values()))


# argument names that models use, with the right ones for hints
_ALIASES = {
    "q": "query",
    "n": "limit",
    "max_results": "limit",
    "tag": "tags",
    "label": "tags",
    "heading": "section",
    "path": "file",
    "content": "text",
    "fact": "text",
    "id": "fact",
    "etag": "expect",
    "new": "with",
    "old": "replace",
    "command": "action",
}
_INSTEAD_OF_QUERY = ("tags", "since", "until")
_SIMILAR = 0.6


def check_arguments(tool: ToolDefinition, call_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a call, with defaults; null counts as missing.

    Raises UsageProblem for an argument that is unknown, missing, of the wrong type, or does not go
    with another.
    """
    values = {name: value for name, value in call_arguments.items() if value is not None}
    for name in values:
        if name not in tool.arguments:
            raise UsageProblem(f"{tool.name} has no argument {name[:40]!r}", _nearest(name, tool))
    for name in tool.required:
        if name not in values:
            raise UsageProblem(
                f"{tool.name} needs {name}", f"It takes {', '.join(tool.arguments)}."
            )
    for name, value in values.items():
        _require_type(name, value, tool.arguments[name])
    defaults = {
        name: schema["default"] for name, schema in tool.arguments.items() if "default" in schema
    }
    if rule := _RULES.get(tool.name):
        rule(values)
    return defaults | values


def _nearest(name: str, tool: ToolDefinition) -> str:
    meant = nearest_name(name, tool.arguments) or _ALIASES.get(name.casefold(), "")
    return (
        f"Did you mean {meant}?"
        if meant in tool.arguments
        else f"It takes {', '.join(tool.arguments)}."
    )


def nearest_name(name: str, names: Collection[str]) -> str:
    """The name most similar to `name`; empty if none is similar."""
    return next(iter(near_names(name.casefold(), names, 1, _SIMILAR)), "")


def _require_type(name: str, value: Any, schema: Schema) -> None:
    match schema["type"]:
        case "string" if not isinstance(value, str):
            raise UsageProblem(f"{name} must be a text")
        case "string" if "enum" in schema and value not in schema["enum"]:
            raise UsageProblem(
                f"{name} is {value[:40]!r}, which is not one of its choices",
                f"It takes {', '.join(schema['enum'])}.",
            )
        case "boolean" if not isinstance(value, bool):
            raise UsageProblem(f"{name} must be true or false")
        case "integer" if not isinstance(value, int) or isinstance(value, bool):
            raise UsageProblem(f"{name} must be a whole number")
        case "integer" if not schema["minimum"] <= value <= schema["maximum"]:
            raise UsageProblem(
                f"{name} must be between {schema['minimum']} and {schema['maximum']}, not {value}"
            )
        case "array" if not isinstance(value, list) or not all(
            isinstance(each, str) for each in value
        ):
            raise UsageProblem(f"{name} must be a list of texts", f'Example: {{"{name}": ["ops"]}}')
        case "array" if len(value) > schema["maxItems"]:
            raise UsageProblem(
                f"{name} has {len(value):,} items, and may have {schema['maxItems']}"
            )


def _check_search(values: Mapping[str, Any]) -> None:
    if not values.get("query", "").strip() and not any(
        values.get(name) for name in _INSTEAD_OF_QUERY
    ):
        raise UsageProblem(
            "memory_search needs query, tags, since or until", 'Example: {"since": "yesterday"}'
        )


def _check_edit(values: Mapping[str, Any]) -> None:
    actions = [
        name
        for name in ("body", "append", "replace", "delete")
        if values.get(name) not in (None, False)
    ]
    if len(actions) != 1:
        raise UsageProblem("give exactly one of body, append, replace (with `with`), delete")
    if ("with" in values) is not (actions == ["replace"]):
        raise UsageProblem("replace and with go together")
    if actions[0] in ("body", "delete") and not values.get("expect"):
        raise UsageProblem(
            f"{actions[0]} needs expect", "memory_get of the section ends with its etag: give that."
        )


def _check_task(values: Mapping[str, Any]) -> None:
    action = values["action"]
    needed = {"list": (), "show": ("name",)}.get(action, ("name", "text"))
    for name in needed:
        if name not in values:
            raise UsageProblem(f"{action} needs {name}")


# checks of arguments that depend on each other, by tool
_RULES: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "memory_search": _check_search,
    "memory_edit": _check_edit,
    "memory_task": _check_task,
}
