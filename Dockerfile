# mdmem on a timer, for a workspace that is mounted: docs/digest.md.
FROM python:3.13-slim
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,target=/source,rw pip install --no-cache-dir /source
CMD ["sh", "-c", "mdmem run; while sleep 300; do mdmem run --quiet; done"]
