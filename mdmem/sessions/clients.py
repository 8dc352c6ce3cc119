"""Transcripts of agents' sessions; only this package knows how clients write them."""

from __future__ import annotations

from mdmem.sessions import claude, codex, gemini, openclaw

CLIENTS = (claude.CLIENT, codex.CLIENT, openclaw.CLIENT, gemini.CLIENT)
"""In the order in which a file is tried."""
CLIENT_NAMES = tuple(client.name for client in CLIENTS)
