"""Transcripts of agents' sessions; only this package knows how clients write them."""

from __future__ import annotations

from mdmem.sessions import claude, codex, copilot, gemini, openclaw, qwen

CLIENTS = (
    qwen.CLIENT,
    claude.CLIENT,
    codex.CLIENT,
    openclaw.CLIENT,
    gemini.CLIENT,
    copilot.CLIENT,
)
"""In the order in which a file is tried: records of Qwen Code look like those of Claude Code."""
CLIENT_NAMES = tuple(sorted(client.name for client in CLIENTS))
