"""Packages of npm that tests need, each in a folder of the user's cache."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "mdmem", "clients")
ENVIRONMENT = {**os.environ, "DISABLE_AUTOUPDATER": "1"}
"""The person's own environment, with npm's registry and cache. Read before a test seals
the world.
"""
_SECONDS = 900


def install_package(folder: Path, package: str) -> None:
    """Install a package, such as `axe-core@4.14.1`, in a folder; the test is skipped where npm
    cannot bring it. Its own scripts run with the Node that is there already, if there is one.
    """
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"{package} is not installed, and there is no npm to install it with")
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join((str(folder / "node_modules" / ".bin"), ENVIRONMENT["PATH"]))
    words = [
        npm,
        "install",
        "--prefix",
        str(folder),
        "--no-audit",
        "--no-fund",
        "--loglevel",
        "error",
        package,
    ]
    try:
        done = subprocess.run(
            words,
            env=ENVIRONMENT | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} did not install within {_SECONDS} s")
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no word from npm"])[0]
        pytest.skip(f"{package} does not install: {reason}")
