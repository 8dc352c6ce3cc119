"""Make an archive of a home as a version of mdmem left it: `make.py PYTHON ARCHIVE`.

PYTHON is the interpreter of an environment in which that version is installed. The archives were
made from these commits: 0.2.0.tar.xz from 7dff4b08; 0.2-nights.tar.xz, the last version before
workspaces were adopted, which had digests and nights already, from 66f448c5; 0.3.tar.xz, what
became 0.3.0 while its state still was in several files, from d67e822e; 0.3-clock.tar.xz, in which
a clock that went back to 2001 had commits twice in the trail, from 796ff113; 0.3.0.tar.xz, the
release itself with all that it could be connected to, from bb810360.

The home is made at /home/ada, which must not exist, on a machine named `desk`, so that an archive
names nothing of the machine it was made on. Times of files and commits are fixed; what a version
draws by chance (the key of proposals, the names in its index) differs each time.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import session_files

HOME = Path("/home/ada")
PYTHON = "/opt/mdmem/bin/python3"
"""The interpreter that the hooks in an archive name."""
AS_DESK = (
    "import platform, runpy, sys; platform.node = lambda: 'desk'; sys.argv[0] = 'mdmem';"
    " runpy.run_module('mdmem', run_name='__main__', alter_sys=True)"
)
GITCONFIG = """\
[user]
\tname = Ada Example
\temail = ada@example.org
[init]
\tdefaultBranch = main
[maintenance]
\tauto = false
"""
SETTINGS = 'timezone = "UTC"\n'
SESSION_SETTINGS = 'sessions = ["claude"]\nsession_scope = "all"\n'
FIRST_SESSION = (
    "Remember that the accountant is Maria Sand.",
    "agent: Noted.",
    "We decided to use Postgres for the billing service.",
    "agent: Root cause of the failed deploy: the disk of the runner was full.",
    "Fix the flaky test, please.",
    "The release notes say: we decided to drop Python 3.11.",
)
SECOND_NAME = session_files.SESSION.replace("5a1e", "5a1f")
SECOND_SESSION = (
    "Remember that the wifi at the office is called heron.",
    "agent: Noted.",
    "I prefer trains over planes.",
)
DAYS = {
    "2026-03-02T09:00:00": """\
init .
remember "works at Stripe" --key employer --section Work --create --source user-stated
remember "lives in Oslo" --key home --section Home --create --source user-stated
remember "the editor is Vim" --key editor --section Work --actor claude
log "staging moved to Frankfurt" --kind fact --source auto
log "the demo is on Tuesday" --kind fact --actor claude
""",
    "2026-03-03T10:00:00": """\
remember "works at Linear" --key employer --section Work --source user-stated
log "the demo is on Thursday" --kind fact --source user-stated
contradicts "the demo is on Tuesday" "the demo is on Thursday"
remember "the parking code is 4711" --section Home --source user-stated
""",
    "2026-03-04T08:00:00": """\
forget "the parking code is 4711"
digest
dream --apply
remember "lives in Bergen" --key home --section Home --propose --actor codex --reason "a move"
""",
    "2026-03-05T08:00:00": f"""\
digest
dream --propose
search employer
history 75d0be72
context --session {SECOND_NAME}
status
""",
}
"""The commands by the time at which they are typed; those of nights only where there are nights."""
CLOCK_DAYS = {
    "2026-03-01T09:00:00": 'init .\nremember "the vault code is blue"\n',
    "2026-03-01T10:00:00": "phone one\nphone two\n",
    "2026-03-01T11:00:00": "sync\nsearch phone\n",
    **{f"2001-01-01T0{n}:00:00": f'log "entry number {n}"\nsearch entry\n' for n in range(1, 9)},
    "2026-03-02T09:00:00": "phone three\n",
    "2026-03-02T10:00:00": "sync\nsearch phone\n",
}
"""The same where the clock of a machine went back that merges the branch of a phone."""


RELEASE_DAYS = {
    **DAYS,
    "2026-03-05T08:30:00": """\
init --agents
save
schedule systemd --install
-C ../code init --outside
-C ../code remember "the release is on Friday" --create
sync
search Danube
""",
}
"""The same for a home in which the person has hooks, settings, a project and a timer as well."""
RELEASE_SETTINGS = """\
people = ["ada"]
me = ["ada@work.example.org"]
vectors = "weak"
pool = ["/home/ada/.local/share/mdmem/code"]

[in."/home/ada/.local/share/mdmem/code"]
dream = "off"
"""
PROJECT_SETTINGS = 'paths = ["rivers/*.md"]\nbudget_lines = 150\n'
SYSTEMCTL = """\
#!/bin/sh
for name; do :; done
wants=/home/ada/.config/systemd/user/timers.target.wants
case "$2" in enable) mkdir -p $wants; ln -sf ../mdmem-run@.timer "$wants/$name";; esac
"""


def main() -> None:
    python, archive = sys.argv[1:]
    HOME.mkdir()
    try:
        make(Path(python).absolute(), Path(archive).name.removesuffix(".tar.xz"))
        for name in ("phone", "bin", *["hub.git"] * ("clock" in archive)):
            shutil.rmtree(HOME / name, ignore_errors=True)
        pack(Path(archive))
    finally:
        shutil.rmtree(HOME)


def make(python: Path, version: str) -> None:
    days = {"0.3-clock": CLOCK_DAYS, "0.3.0": RELEASE_DAYS}.get(version, DAYS)
    environment = {
        "PATH": f"{HOME}/bin:{os.environ['PATH']}",
        "HOME": str(HOME),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": "",
        "MDMEM_SERVER": "off",
    }

    def mdmem(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(python), "-c", AS_DESK, *words]
        return subprocess.run(
            command,
            cwd=HOME / "notes",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    (HOME / "notes").mkdir()
    (HOME / ".gitconfig").write_text(GITCONFIG)
    commands = mdmem("--help").stdout
    has_nights = " dream " in commands
    settings = HOME / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True)
    sessions = SESSION_SETTINGS * (has_nights and days is not CLOCK_DAYS)
    settings.write_text(SETTINGS + sessions + RELEASE_SETTINGS * (days is RELEASE_DAYS))
    if days is RELEASE_DAYS:
        surround(mdmem("plugin").stdout.strip())
    for now, lines in days.items():
        environment["MDMEM_NOW"] = f"{now}+00:00"
        prepare(now[:10])
        for words in map(shlex.split, lines.splitlines()):
            if words[0] == "phone":
                write_on_phone(now, words[1])
                continue
            is_known = f" {words[0]} " in f"{commands} -C " and (
                "--propose" not in words or has_nights
            )
            done = mdmem(*words) if is_known else None
            assert done is None or done.returncode == 0, (words, done.stderr)
    time.sleep(3)  # what runs in the background ends
    for path in HOME.rglob("*"):
        if path.is_file() and str(python).encode() in (data := path.read_bytes()):
            path.write_bytes(data.replace(str(python).encode(), PYTHON.encode()))


def prepare(day: str) -> None:
    """Do by hand what came before a day's commands: an edit, sessions with an agent."""
    project = str(HOME / "notes")
    match day:
        case "2026-03-03":
            memory = HOME / "notes" / "MEMORY.md"
            memory.write_text(memory.read_text() + "\n## Boat\n\n- the boat is called Albatros\n")
        case "2026-03-04":
            start = datetime(2026, 3, 3, 18, tzinfo=UTC)
            session_files.claude(HOME, *FIRST_SESSION, project=project, start=start)
        case "2026-03-05":
            start, name = datetime(2026, 3, 4, 18, tzinfo=UTC), SECOND_NAME
            session_files.claude(HOME, *SECOND_SESSION, session=name, project=project, start=start)


def surround(plugin: str) -> None:
    """Put into the home what 0.3.0 is connected to: hooks, a remote, a project, a host, a timer."""
    for folder in ("notes", "code"):
        subprocess.run(["git", "init", "-q", "-b", "main", HOME / folder], check=True)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", HOME / "hub.git"], check=True)
    remote = ["remote", "add", "origin", "../hub.git"]
    subprocess.run(["git", "-C", HOME / "notes", *remote], check=True)
    hooks = HOME / "notes" / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (HOME / "notes" / "rivers").mkdir()
    (HOME / "bin").mkdir()
    host = HOME / ".claude" / "plugins"
    copy = host / "cache" / "mdmem" / "mdmem" / "0.3.0"
    shutil.copytree(Path(plugin) / "mdmem", copy)
    entry = {"scope": "user", "installPath": str(copy), "version": "0.3.0"}
    installed = {"version": 2, "plugins": {"mdmem@mdmem": [entry]}}
    for path, text in {
        hooks / "pre-commit": "#!/bin/sh\necho ran >> .git/own-hook\n",
        HOME / "bin" / "systemctl": SYSTEMCTL,
        HOME / "notes" / "rivers" / "danube.md": "# Danube\n\n- the Danube has ten countries\n",
        HOME / "notes" / "mdmem.toml": PROJECT_SETTINGS,
        host / "installed_plugins.json": json.dumps(installed),
    }.items():
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def write_on_phone(now: str, word: str) -> None:
    """Commit a line on a phone, a clone of a hub, and push it to the phone's own branch there."""

    def git(folder: str, *words: str) -> None:
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{now}+00:00")
        command = ["git", "-c", "core.hooksPath=/dev/null", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(HOME), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(command, cwd=HOME / folder, env=environment | dates, check=True)

    if not (HOME / "phone").exists():
        git(".", "init", "-q", "--bare", "hub.git")
        git("notes", "remote", "add", "origin", "../hub.git")
        git("notes", "push", "-q", "-u", "origin", "main")
        git(".", "clone", "-q", "hub.git", "phone")
    with (HOME / "phone" / "MEMORY.md").open("a") as file:
        file.write(f"- the phone says {word}\n")
    git("phone", "commit", "-q", "-a", "-m", "from the phone")
    git("phone", "push", "-q", "origin", "HEAD:refs/heads/mdmem/in/phone")


def pack(archive: Path) -> None:
    """Pack the home as `home/`: names in order, one time, nobody's user ids."""
    at = int(datetime(2026, 3, 5, 9, tzinfo=UTC).timestamp())
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted((HOME, *HOME.rglob("*"))):
            entry = tar.gettarinfo(path, Path("home", path.relative_to(HOME)))
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = at, 0, 0, "", ""
            tar.addfile(entry, BytesIO(path.read_bytes()) if entry.isfile() else None)


if __name__ == "__main__":
    main()
