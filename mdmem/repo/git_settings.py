"""Read git's settings without starting git, where files are in the usual form; git-config(1)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mdmem.startup.records import dataclass

LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
_STRIPPED, _DROPPED = b" .,:;'", b'<>"\\\x7f'
"""Characters that git strips from the ends of names, and drops anywhere in them."""
_ADDRESSES = ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL")
_PEOPLE = (b"user", b"author", b"committer")
_SYSTEM = {"/usr/bin": "/etc", "/bin": "/etc", "/usr/local/bin": "/usr/local/etc"}
"""Folder of the git program → folder of the system's settings."""


@dataclass(frozen=True, slots=True)
class GitSettings:
    """Settings by section and name, as of `key_of`; the last wins. None: only git can tell."""

    values: Mapping[tuple[bytes, bytes], bytes | None]

    def person(self, role: str) -> bytes | None:
        """The AUTHOR, or the COMMITTER, as `NAME <EMAIL>`; None where git has to be asked."""
        name, email = (
            os.fsencode(os.environ.get(f"GIT_{role}_{part}", "")) or self._configured(role, part)
            for part in ("NAME", "EMAIL")
        )
        return _format_person(name, email)

    def _configured(self, role: str, part: str) -> bytes:
        values = [
            self.values[key]
            for section in (role.lower(), "user")
            if (key := (section.encode(), part.lower().encode())) in self.values
        ]
        if (
            not values
            and part == "EMAIL"
            and is_off(self.values.get((b"user", b"useconfigonly"), b""))
        ):
            return os.fsencode(os.environ.get("EMAIL", ""))
        return next((value for value in values if value != b""), None) or b""

    def addresses(self) -> list[bytes] | None:
        """The e-mail addresses of user, author and committer; None where git has to be asked."""
        named = [self.values.get((section, b"email"), b"") for section in _PEOPLE]
        return None if None in named else [address for address in named if address]

    def has(self, section: bytes, name: bytes) -> bool:
        return (section, name) in self.values


def key_of(name: str) -> tuple[bytes, bytes]:
    """Section (`remote "origin"`) and name of a setting, in small letters outside of quotes."""
    section, _, last = name.rpartition(".")
    word, dot, subsection = section.partition(".")
    quoted = f'{word.lower()} "{subsection}"' if dot else word.lower()
    return os.fsencode(quoted), last.lower().encode()


def address_variables() -> list[str]:
    return [os.environ[name] for name in _ADDRESSES if name in os.environ]


def is_off(value: bytes | None) -> bool:
    """True if the value of a setting means no; a setting without a value (None) means yes."""
    return value is not None and value.lower() in (b"", b"false", b"no", b"off", b"0")


def _format_person(name: bytes, email: bytes) -> bytes | None:
    """A person as git writes one; None where git would strip or drop characters."""
    is_altered = any(
        not word
        or word.strip(_STRIPPED) != word
        or any(byte < 32 or byte in _DROPPED for byte in word)
        for word in (name, email)
    )
    return None if is_altered else b"%s <%s>" % (name, email)


def read_settings(git_dir: str | None) -> GitSettings | None:
    """The settings for a repository (None: for all of them); None where git has to be asked."""
    values: dict[tuple[bytes, bytes], bytes | None] = {}
    paths = _settings_files()
    own = [f"{git_dir}/config"] if git_dir else []
    for path in (*paths, *own) if paths is not None else ():
        try:
            with open(path, "rb", buffering=0) as file:
                settings = parse_settings(file.read())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return None
        if settings is None or any(section.startswith(b"include") for section, _, _ in settings):
            return None
        values.update(((section, name), _unquoted(value)) for section, name, value in settings)
    return GitSettings(values) if paths is not None else None


def _unquoted(value: bytes) -> bytes | None:
    """A value without quotes and comment; None where only a part of it is quoted."""
    if value[:1] == b'"':
        text, _, rest = value[1:].partition(b'"')
        return text if rest.lstrip()[:1] in (b"", b"#", b";") else None
    text = value.partition(b"#")[0].partition(b";")[0].rstrip()
    return None if b'"' in text else text


def _settings_files() -> list[str] | None:
    """The settings files outside the repository, in git's order; None: ask git."""
    environment, home = os.environ, os.environ.get("HOME") or "."
    system, no_system = (
        environment.get("GIT_CONFIG_SYSTEM"),
        environment.get("GIT_CONFIG_NOSYSTEM", ""),
    )
    if no_system not in ("", "0", "1", "false", "true"):
        return None
    paths = []
    if no_system in ("", "0", "false"):
        git_folder = next(
            (
                folder
                for folder in environment.get("PATH", "").split(os.pathsep)
                if os.access(f"{folder}/git", os.X_OK)
            ),
            "",
        )
        if system is None and git_folder not in _SYSTEM:
            return None
        paths.append(f"{_SYSTEM[git_folder]}/gitconfig" if system is None else system)
    if global_file := environment.get("GIT_CONFIG_GLOBAL"):
        paths.append(global_file)
    else:
        paths += [
            f"{environment.get('XDG_CONFIG_HOME') or home + '/.config'}/git/config",
            f"{home}/.gitconfig",
        ]
    # Others are relative to the root of the work tree.
    return paths if all(path.startswith("/") for path in paths) else None


def parse_settings(text: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
    """Section (`core`, `remote "origin"`), name and value of each setting; None for unusual lines.

    Both are as of `key_of`. Values still have their quotes and comments.
    """
    settings, section = [], b""
    for line in (line.strip(b" \t\r") for line in text.split(b"\n")):
        if line.startswith(b"["):
            word, quote, rest = line[1:-1].partition(b' "')
            if (
                line[-1:] != b"]"
                or not word
                or word.strip(LETTERS)
                or (quote and rest.find(b'"') != len(rest) - 1)
            ):
                return None
            if b"]" in rest or b"\\" in rest:
                return None
            if not quote and b"." in word:  # [branch.main], an old form
                word, _, rest = word.lower().partition(b".")
                quote, rest = b' "', rest + b'"'
            section = word.lower() + quote + rest
        elif line[:1] not in (b"", b"#", b";"):
            name, equals, value = (word.strip(b" \t") for word in line.partition(b"="))
            if (
                not section
                or not equals
                or not name[:1].isalpha()
                or name.strip(LETTERS)
                or b"." in name
                or b"\\" in value
                or value.count(b'"') % 2
            ):
                return None
            settings.append((section, name.lower(), value))
    return settings
