"""Proposals on branches: read, judged against current memory, and accepted part by part."""
