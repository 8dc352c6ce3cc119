"""Make a release in dist/: `make release`. The same commit and Python give the same bytes.

It is made from HEAD in a temporary folder, with the tools of locks/build.txt. Beside wheel and
sdist there are a list of what an installation with all extras consists of (CycloneDX), a list of
the licences in it, a pylock.toml with what mdmem needs without extras, and the hashes of these
files.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Put a release of HEAD into dist/, in place of what is there."""
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        epoch = run("git", "log", "-1", "--format=%ct", at=ROOT).strip()
        os.environ |= {"SOURCE_DATE_EPOCH": epoch, "COLUMNS": "1000"}
        make(folder, int(epoch))
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(folder / "dist", ROOT / "dist")
    print((ROOT / "dist" / "SHA256SUMS").read_text(encoding="utf-8"), end="")


def make(folder: Path, epoch: int) -> None:
    """Make a release in the folder's `dist`."""
    source, tools, dist = (folder / name for name in ("source", "tools", "dist"))
    run("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(source), at=ROOT)
    venv.create(tools, with_pip=True)
    program = tools / "bin"
    locked = ("--quiet", "--require-hashes", "--requirement")
    run(program / "pip", "install", *locked, "locks/build.txt", at=source)
    run(program / "python", "-m", "build", "--no-isolation", "--outdir", dist, ".", at=source)
    (sdist,) = dist.glob("*.tar.gz")
    repack(sdist, epoch)
    run(program / "twine", "check", "--strict", *sorted(dist.iterdir()), at=source)
    version = sdist.name.removeprefix("mdmem-").removesuffix(".tar.gz")
    describe(source, program, dist, version)
    made = sorted(dist.iterdir())
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)
    (dist / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def describe(source: Path, program: Path, dist: Path, version: str) -> None:
    """Write the lists, of what locks/run.txt installs."""
    installed = source.parent / "installed"
    python = installed / "bin" / "python"
    uv = (program / "uv", "--quiet", "--no-config", "--system-certs")
    run(*uv, "venv", "--python", sys.executable, installed, at=source)
    sync = ("pip", "sync", "--require-hashes", "--python", python)
    run(*uv, *sync, "locks/run.txt", at=source)
    # cyclonedx-py reads no version that another file has.
    project = (source / "pyproject.toml").read_text(encoding="utf-8")
    project = project.replace('dynamic = ["version"]', f'version = "{version}"')
    (source / "pyproject.toml").write_text(project, encoding="utf-8")
    sbom = ("environment", "--pyproject", "pyproject.toml", "--output-reproducible")
    target = dist / f"mdmem-{version}.cdx.json"
    run(program / "cyclonedx-py", *sbom, "--output-file", target, python, at=source)
    licences = ("--from=mixed", "--format=markdown", "--with-urls", f"--python={python}")
    listing = run(program / "pip-licenses", *licences, at=source)
    (dist / "licences.md").write_text(listing, encoding="utf-8")
    lock = ("--universal", "--python-version=3.11", "--no-header", "--no-annotate")
    until = run("git", "log", "-1", "--format=%cI", at=source).strip()
    lock = (*lock, "--constraint=locks/run.txt", f"--exclude-newer={until}", "--format=pylock.toml")
    pylock = dist / "pylock.toml"
    run(*uv, "pip", "compile", *lock, f"--output-file={pylock}", "pyproject.toml", at=source)


def repack(sdist: Path, epoch: int) -> None:
    """Give all that is packed one time and nobody's user ids, which setuptools does not."""
    packed = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=packed, mode="w") as new:
        for entry in sorted(old, key=lambda entry: entry.name):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = epoch, 0, 0, "", ""
            entry.pax_headers = {}
            new.addfile(entry, old.extractfile(entry) if entry.isfile() else None)
    sdist.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))


def run(*words: str | Path, at: Path) -> str:
    """Run a program in a folder; its output. Raises: CalledProcessError."""
    return subprocess.run(words, cwd=at, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
