"""Transcripts of agents' sessions: found on disk, and read. Nothing else knows how a client writes its sessions."""
