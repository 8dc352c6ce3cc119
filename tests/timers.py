"""A system with systemd and cron, as programs on the PATH."""

from pathlib import Path

import pytest
from commandline import Shell
from conftest import World


def program(world: World, name: str, text: str) -> None:
    """Put a program of the system on the PATH, before all others."""
    path = world.home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def system(shell: Shell) -> Path:
    """A system with a systemd that does as it is told, and a crontab; the file in which its calls
    are listed.
    """
    home = shell.world.home
    wants = f"{home}/.config/systemd/user/timers.target.wants"
    program(
        shell.world,
        "systemctl",
        f'printf "%s\\n" "$*" >> {home}/calls\nfor name; do :; done\ncase "$2" in enable) mkdir -p {wants}; '
        f'ln -sf ../mdmem-run@.timer "{wants}/$name";; disable) rm "{wants}/$name";; esac',
    )
    program(
        shell.world,
        "crontab",
        f'case "$1" in -l) cat {home}/crontab 2>/dev/null || {{ echo "no crontab for ada" >&2; exit 1; }};; -) cat > {home}/crontab;; esac',
    )
    shell.patch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
    return home / "calls"
