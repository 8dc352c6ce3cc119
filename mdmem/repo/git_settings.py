"""git's settings, where the files that hold them are written in the usual form; without starting git. See git-config(1)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mdmem.startup.records import dataclass

LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
_CRUD, _NEVER = b" .,:;'", b'<>"\\\x7f'
"""What git takes off the ends of names, and out of them."""
_SYSTEM = {"/usr/bin": "/etc", "/bin": "/etc", "/usr/local/bin": "/usr/local/etc"}
"""Where a git in such a folder looks for the system's settings."""


@dataclass(frozen=True, slots=True)
class GitSettings:
    """Settings by section and name in small letters; of one said twice the last, and by the most local file. None: only git can tell."""

    values: Mapping[tuple[bytes, bytes], bytes | None]

    def person(self, role: str) -> bytes | None:
        """Who is the AUTHOR, or the COMMITTER, as `NAME <EMAIL>`; None where git has to be asked."""
        name, email = (os.fsencode(os.environ.get(f"GIT_{role}_{part}", "")) or self._of_person(role, part) for part in ("NAME", "EMAIL"))
        return _written(name, email)

    def _of_person(self, role: str, part: str) -> bytes:
        said = [self.values[key] for section in (role.lower(), "user") if (key := (section.encode(), part.lower().encode())) in self.values]
        if not said and part == "EMAIL" and is_off(self.values.get((b"user", b"useconfigonly"), b"")):
            return os.fsencode(os.environ.get("EMAIL", ""))
        return next((value for value in said if value != b""), None) or b""

    def has(self, section: bytes, name: bytes) -> bool:
        """Whether one is said at all."""
        return (section, name) in self.values


def is_off(value: bytes | None) -> bool:
    """Whether the value of a setting is a no; without a value (None) it is a yes."""
    return value is not None and value.lower() in (b"", b"false", b"no", b"off", b"0")


def _written(name: bytes, email: bytes) -> bytes | None:
    """A person as git writes one; None where it would take signs off the ends, or out of it."""
    odd = any(not word or word.strip(_CRUD) != word or any(byte < 32 or byte in _NEVER for byte in word) for word in (name, email))
    return None if odd else b"%s <%s>" % (name, email)


def read_settings(git_dir: str) -> GitSettings | None:
    """The settings for a repository; None where git has to be asked."""
    values: dict[tuple[bytes, bytes], bytes | None] = {}
    places = _places()
    for place in (*places, f"{git_dir}/config") if places is not None else ():
        try:
            with open(place, "rb", buffering=0) as file:
                found = parse_settings(file.read())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return None
        if found is None or any(section.startswith(b"include") for section, _, _ in found):
            return None
        values.update(((section, name), _plain(value)) for section, name, value in found)
    return GitSettings(values) if places is not None else None


def _plain(value: bytes) -> bytes | None:
    """A value without the quotes around it and the comment behind it; None where it is quoted in parts."""
    if value[:1] == b'"':
        words, _, rest = value[1:].partition(b'"')
        return words if rest.lstrip()[:1] in (b"", b"#", b";") else None
    words = value.partition(b"#")[0].partition(b";")[0].rstrip()
    return None if b'"' in words else words


def _places() -> list[str] | None:
    """The files that are not the repository's own, in the order in which they count."""
    environment, home = os.environ, os.environ.get("HOME") or "."
    system, without = environment.get("GIT_CONFIG_SYSTEM"), environment.get("GIT_CONFIG_NOSYSTEM", "")
    if without not in ("", "0", "1", "false", "true"):
        return None
    places = []
    if without in ("", "0", "false"):
        folder = next((one for one in environment.get("PATH", "").split(os.pathsep) if os.access(f"{one}/git", os.X_OK)), "")
        if system is None and folder not in _SYSTEM:
            return None
        places.append(f"{_SYSTEM[folder]}/gitconfig" if system is None else system)
    if own := environment.get("GIT_CONFIG_GLOBAL"):
        places.append(own)
    else:
        places += [f"{environment.get('XDG_CONFIG_HOME') or home + '/.config'}/git/config", f"{home}/.gitconfig"]
    return places if all(place.startswith("/") for place in places) else None  # git would look from the root of the work tree


def parse_settings(text: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
    """Section (`core`, `remote "origin"`), name and value of settings; None where a line is not of the usual form.

    Sections and names in small letters. Quotes and a comment are in the value still.
    """
    found, section = [], b""
    for line in (line.strip(b" \t\r") for line in text.split(b"\n")):
        if line.startswith(b"["):
            section = line[1:-1].lower()
            word, quote, rest = section.partition(b' "')
            if line[-1:] != b"]" or not word or word.strip(LETTERS) or (quote and rest.find(b'"') != len(rest) - 1):
                return None
            if b"]" in section or b"\\" in section:
                return None
        elif line[:1] not in (b"", b"#", b";"):
            name, said, value = (word.strip(b" \t") for word in line.partition(b"="))
            if (
                not section
                or not said
                or not name[:1].isalpha()
                or name.strip(LETTERS)
                or b"." in name
                or b"\\" in value
                or value.count(b'"') % 2
            ):
                return None
            found.append((section, name.lower(), value))
    return found
