"""A workspace's folder on disk: layout, settings, files, and whom mdmem believes; without git."""
