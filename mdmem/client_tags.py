"""The tags in which clients and memory tools put text of their own among a person's words, in one table; and a text without what they enclose.

Such text must not come back as something that was said. So wherever it is unclear how far a block goes, more is taken out rather than less: a
block that is not closed goes on to the end, and a second closing tag takes along what stands between it and the first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from re import Match, Pattern

from mdmem.startup import late

MEMORY_TAG = "mdmem-context"
"""The tag of mdmem's own blocks."""

TAGS = frozenset(
    {
        MEMORY_TAG,
        # Claude Code
        "system-reminder",
        "system_reminder",
        "local-command-caveat",
        "local-command-stdout",
        "local-command-stderr",
        "command-name",
        "command-message",
        "command-args",
        "command-contents",
        "bash-input",
        "bash-stdout",
        "bash-stderr",
        "bash-exit-code",
        "user-prompt-submit-hook",
        "session-start-hook",
        "task-notification",
        "task-reminder",
        "teammate-message",
        "cross-session-message",
        "agent-message",
        "fork-boilerplate",
        "remote-review",
        "remote-review-progress",
        "ide_opened_file",
        "ide_selection",
        "ide_diagnostics",
        "new-diagnostics",
        "persisted-output",
        "interrupted-output",
        "tool_use_error",
        "user-memory-input",
        "session_metadata",
        # Codex
        "environment_context",
        "environments",
        "environments_instructions",
        "user_instructions",
        "instructions",
        "permissions instructions",
        "apps_instructions",
        "plugins_instructions",
        "skills_instructions",
        "collaboration_mode",
        "multi_agent_mode",
        "model_switch",
        "personality_spec",
        "realtime_conversation",
        "recommended_plugins",
        "skill",
        "subagent_notification",
        "turn_aborted",
        "user_shell_command",
        "codex_internal_context",
        "codex_delegation",
        "context_window",
        "context_window_guidance",
        "context_window_reminder",
        "current_time_reminder",
        "managed_developer_instructions",
        "model_instructions",
        "multi_agent_role",
        "rollout_budget",
        "startup_context",
        "user_action",
        "agent_message_board_notification",
        # Gemini CLI
        "session_context",
        "hook_context",
        "state_snapshot",
        "loaded_context",
        "extension_context",
        "global_context",
        "project_context",
        "user_project_memory",
        "untrusted_context",
        "activated_skill",
        "available_subagents",
        # pi and OpenClaw
        "project_instructions",
        "available_skills",
        "active_memory_plugin",
        "relevant-memories",
        "relevant_memories",
        "recalled-memories",
        "recalled_memories",
        # Memory tools
        "memory-context",
        "memory_context",
        "memories",
        "user_memories",
        "claude-mem-context",
        "supermemory-context",
        "supermemory-containers",
        "mem0-context",
        "mem0_memories",
        "hindsight_memories",
        "honcho-context",
        "honcho-memory",
        "openviking-context",
        "private",
    }
)
"""Names are compared without case."""

_LESS, _MORE = r"(?:[<\uff1c\ufe64]|&(?:amp;)*(?:lt|#0*60|#x0*3c);)", r"(?:[>\uff1e\ufe65]|&(?:amp;)*(?:gt|#0*62|#x0*3e);)"
_BEGINNINGS = ("<", "&", "\uff1c", "\ufe64")


@lru_cache(maxsize=8)
def _tag_pattern(names: frozenset[str]) -> Pattern[str]:
    """An opening or a closing tag, as it is or escaped for HTML (once or more often); one that begins and is never ended counts too."""
    alternatives = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=lambda name: (-len(name), name)))
    return late.compiled(
        rf"(?i)(?P<less>{_LESS})\s*+(?P<closing>/?)\s*+(?P<name>{alternatives})(?![\w.:-])(?P<rest>[^<>&\uff1c\uff1e]*(?:{_MORE})?)"
    )


_MOST_ROUNDS = 20
"""Tags that only come about when others are taken out, in each other more often than this: what follows is dropped."""

_OPENINGS = "<\uff1c\ufe64"
"""The characters that are a `<` after NFKC."""
_TAG = late.pattern(r"<\s*+/?\s*+(?P<name>[\w.:-]++)(?:\s++(?P<more>[\w.:-]++))?")
_OWN_BEGINNINGS = ("mdmem-", "system-", "system.", "system:")
"""Of names that could be a frame of ours, or one in which a host speaks as the system."""
_HIDDEN_CATEGORIES = ("Cc", "Cf")
_HIDDEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u3164\uffa0")
_HIDDEN_RANGES = (range(0xFE00, 0xFE10), range(0xFFF0, 0xFFF9), range(0xE0000, 0xE1000))
"""Further characters that are not shown: fillers, joiners and selectors of variants (`Default_Ignorable_Code_Point` of Unicode 15)."""


def escape_tags(text: str) -> str:
    """A text in which the `<` of each tag is written `&lt;`, so that nothing in it opens or closes a frame; the rest stays as it is.

    A tag counts in every spelling that reads as one: full-width brackets and letters, characters that are not shown.
    """
    if not any(opening in text for opening in _OPENINGS):
        return text
    plain, positions = _shown_characters(text)
    starts = [positions[tag.start()] for tag in _TAG.finditer(plain) if _is_frame(tag["name"].casefold(), tag["more"])]
    ends = [0, *(start + 1 for start in starts)]
    return "&lt;".join(text[end:start] for end, start in zip(ends, [*starts, len(text)], strict=True))


def _is_frame(name: str, more: str | None) -> bool:
    return (
        name in TAGS or name == "system" or name.startswith(_OWN_BEGINNINGS) or (more is not None and f"{name} {more.casefold()}" in TAGS)
    )


def _shown_characters(text: str) -> tuple[str, Sequence[int]]:
    """A text in NFKC without what is not shown, and where in the text each of its characters comes from."""
    if text.isascii() and text.isprintable():
        return text, range(len(text))
    shown = [(character, position) for position, each in enumerate(text) if not _is_hidden(each) for character in _normalised(each)]
    return "".join(character for character, _ in shown), [position for _, position in shown]


def _normalised(character: str) -> str:
    return unicodedata.normalize("NFKC", character)


def _is_hidden(character: str) -> bool:
    if character.isascii():
        return not character.isprintable() and not character.isspace()
    is_control = unicodedata.category(character) in _HIDDEN_CATEGORIES and not character.isspace()
    return is_control or character in _HIDDEN or any(ord(character) in each for each in _HIDDEN_RANGES)


def strip_blocks(text: str, tags: Collection[str] = TAGS) -> str:
    """A text without blocks in these tags, nested and escaped ones too. What is left is looked at again, since it may be a tag in its turn."""
    pattern = _tag_pattern(frozenset(tags))
    for _ in range(_MOST_ROUNDS):
        spans = list(_block_spans(text, pattern)) if any(beginning in text for beginning in _BEGINNINGS) else []
        if not spans:
            return text
        ends = [0, *(end for _, end in spans)]
        text = "".join(text[end:start] for end, start in zip(ends, [*(start for start, _ in spans), len(text)], strict=True))
    tag = pattern.search(text)
    return text[: tag.start()] if tag else text


def _block_spans(text: str, pattern: Pattern[str]) -> Iterator[tuple[int, int]]:
    """Start and end of each block, in their order."""
    tags = list(pattern.finditer(text))
    position = 0
    end: int | None = None
    while position < len(tags):
        opening = tags[position]
        closing = None if opening["closing"] else _closing_position(tags, position)
        if opening["closing"]:
            # A block before it seemed to end earlier: its own text had a closing tag.
            yield opening.start() if end is None else end, opening.end()
            end, position = opening.end(), position + 1
        elif closing is None:
            yield opening.start(), len(text)
            return
        else:
            yield opening.start(), tags[closing].end()
            end, position = tags[closing].end(), closing + 1


def _closing_position(tags: list[Match[str]], position: int) -> int | None:
    """The position of the tag that closes the block which begins at `position`: of the same name, and escaped in the same way."""
    opening = tags[position]
    if _closes_itself(opening):
        return position
    depth = 0
    for following in range(position, len(tags)):
        tag = tags[following]
        if _same_tag(tag, opening) and not _closes_itself(tag):
            depth += -1 if tag["closing"] else 1
            if depth == 0:
                return following
    return None


def _closes_itself(tag: Match[str]) -> bool:
    return not tag["closing"] and tag["rest"].rstrip(">\uff1e").rstrip().endswith("/")


def _same_tag(tag: Match[str], other: Match[str]) -> bool:
    return tag["less"].lower() == other["less"].lower() and tag["name"].lower().split() == other["name"].lower().split()
