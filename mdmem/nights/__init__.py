"""The pipelines: sessions become days' logs (`digest`), days become curated memory (`dream`)."""
