"""Read git's own files (HEAD, refs, loose objects, index) without a git process, which is slow.

Each function answers only for the simple case. For all others it returns None (or False: not
known), and the caller asks git: linked work trees, submodules, extensions (SHA-256, reftable),
settings that name another work tree, split or sparse indexes, objects in packs, replaced objects
(git-replace). Formats: gitformat-index(5), gitrepository-layout(5), gitformat-pack(5),
git-config(1).
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping

from mdmem.model import CommitId
from mdmem.startup.records import dataclass

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
_STRIPPED, _DROPPED = b" .,:;'", b'<>"\\\x7f'
"""Characters that git strips from the ends of names, and drops anywhere in them."""
_ADDRESSES = ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL")
_PEOPLE = (b"user", b"author", b"committer")
_SYSTEM = {"/usr/bin": "/etc", "/bin": "/etc", "/usr/local/bin": "/usr/local/etc"}
"""Folder of the git program → folder of the system's settings."""


@dataclass(frozen=True, slots=True)
class GitSettings:
    """Settings by section and name, as of `setting_key`; the last wins. None: only git can tell."""

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


def setting_key(name: str) -> tuple[bytes, bytes]:
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

    Both are as of `setting_key`. Values still have their quotes and comments.
    """
    settings, section = [], b""
    for line in (line.strip(b" \t\r") for line in text.split(b"\n")):
        if line.startswith(b"["):
            word, quote, rest = line[1:-1].partition(b' "')
            if (
                line[-1:] != b"]"
                or not word
                or word.strip(_LETTERS)
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
                or name.strip(_LETTERS)
                or b"." in name
                or b"\\" in value
                or value.count(b'"') % 2
            ):
                return None
            settings.append((section, name.lower(), value))
    return settings


_SHA1_HEX, _SHA1 = 40, 20
_BRANCH = b"ref: refs/heads/"
_BRANCH_BYTES = _LETTERS + b"/_"
_READABLE_FORMATS = (b"0", b"1")
_COMPLEX_SECTIONS = (b"include", b"extensions")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
_HEADER, _ENTRY = 12, 62
"""The bytes of an index before its first entry, and those of an entry before its path."""
_SLASH = ord("/")
_MODE, _ID = slice(24, 28), slice(40, 60)
"""The positions of the fields of an index entry; see gitformat-index(5)."""
_REGULAR, _EXECUTABLE = 0o100644, 0o100755
_FIRST_EXTENSIONS = (b"IEOT", b"link", b"TREE")
"""Extensions of an index that may come first, in the order in which git writes them."""
_NAME_BITS, _OTHER_BITS = 0x0FFF, 0xF000
"""Masks of an entry's flags: path length; assumed unchanged, extended, and merge stage."""


def read_bytes(path: str) -> bytes | None:
    """The bytes of a file; None where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return None


# The repository of a folder.


def find_repository(folder: str) -> tuple[str, str] | None:
    """The root of a folder's work tree (absolute, no links) and git folder; None: ask git."""
    if sys.platform != "linux" or "GIT_DISCOVERY_ACROSS_FILESYSTEM" in os.environ:
        return None  # elsewhere git compares paths without case, or in another form of Unicode
    device: int | None = None
    while folder != "/":
        try:
            status = os.stat(f"{folder}/")
            if device not in (None, status.st_dev) or status.st_uid != os.geteuid():
                return None
            device = status.st_dev
        except OSError:
            return None
        if os.path.lexists(f"{folder}/.git"):
            return (
                (folder, f"{folder}/.git")
                if _is_simple(f"{folder}/.git", device) and not _is_above_a_ceiling(folder)
                else None
            )
        if os.path.lexists(f"{folder}/HEAD"):
            return None  # perhaps inside a git folder
        folder = os.path.dirname(folder)
    return None


def _is_above_a_ceiling(folder: str) -> bool:
    ceilings = os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    return any(
        f"{os.path.realpath(ceiling)}/".startswith(f"{folder}/") for ceiling in ceilings if ceiling
    )


def _is_simple(git_dir: str, device: int | None) -> bool:
    try:
        status = os.lstat(git_dir)
    except OSError:
        return False
    settings = read_bytes(f"{git_dir}/config")
    return (
        stat.S_ISDIR(status.st_mode)
        and (status.st_uid, status.st_dev) == (os.geteuid(), device)
        and settings is not None
        and _has_simple_settings(settings)
        and os.path.isdir(f"{git_dir}/objects")
        and os.path.isdir(f"{git_dir}/refs")
        and not os.path.lexists(f"{git_dir}/commondir")
        and read_head(git_dir) is not None
    )


def _has_simple_settings(text: bytes) -> bool:
    settings = parse_settings(text)
    return settings is not None and not any(
        section.startswith(_COMPLEX_SECTIONS)
        or (section, name) == (b"core", b"worktree")
        or ((section, name) == (b"core", b"bare") and value != b"false")
        or (
            (section, name) == (b"core", b"repositoryformatversion")
            and value not in _READABLE_FORMATS
        )
        for section, name, value in settings
    )


def operation_under_way(git_dir: str) -> str | None:
    """The merge, rebase or the like that git is in the middle of; None where there is none."""
    return next(
        (
            operation
            for name, operation in _UNDER_WAY.items()
            if os.path.lexists(f"{git_dir}/{name}")
        ),
        None,
    )


# HEAD.


def read_head(git_dir: str) -> tuple[str | None, CommitId | None] | None:
    """HEAD's branch (None: detached) and commit (None: none yet); None: ask git."""
    text = read_bytes(f"{git_dir}/HEAD")
    if text is None or not text.endswith(b"\n") or os.path.islink(f"{git_dir}/HEAD"):
        return None
    if (commit := _commit_id(text)) is not None:
        return None, commit
    name = text[len(_BRANCH) : -1]
    if not text.startswith(_BRANCH) or not _is_simple_branch(name):
        return None
    loose = f"{git_dir}/refs/heads/{name.decode()}"
    if os.path.lexists(loose):
        commit = None if os.path.islink(loose) else _commit_id(read_bytes(loose) or b"")
        return None if commit is None else (name.decode(), commit)
    packed = read_bytes(f"{git_dir}/packed-refs")
    if packed is None:
        return None if os.path.lexists(f"{git_dir}/packed-refs") else (name.decode(), None)
    end = packed.find(b" refs/heads/" + name + b"\n")
    if end < 0:
        return name.decode(), None
    commit = (
        _commit_id(packed[end - _SHA1_HEX : end] + b"\n")
        if packed[end - _SHA1_HEX - 1 : end - _SHA1_HEX] in (b"\n", b"")
        else None
    )
    return None if commit is None else (name.decode(), commit)


def _is_simple_branch(name: bytes) -> bool:
    """True for names that git accepts for sure (it accepts more: git-check-ref-format(1))."""
    parts = name.split(b"/")
    return (
        not name.strip(_BRANCH_BYTES)
        and b".." not in name
        and all(
            part and not part.startswith(b".") and not part.endswith((b".", b".lock"))
            for part in parts
        )
    )


def _commit_id(line: bytes) -> CommitId | None:
    word = line[:-1]
    if (
        len(word) != _SHA1_HEX
        or line[-1:] != b"\n"
        or word.strip(b"0123456789abcdef")
        or not word.strip(b"0")
    ):
        return None
    return CommitId(word.decode())


# Loose objects.


def object_id(kind: bytes, data: bytes, digits: int = _SHA1_HEX) -> str:
    stored = b"%s %d\0%s" % (kind, len(data), data)
    return (
        hashlib.sha1(stored, usedforsecurity=False).hexdigest()
        if digits == _SHA1_HEX
        else hashlib.sha256(stored).hexdigest()
    )


def tree_entries(tree: bytes, width: int = _SHA1) -> Iterator[tuple[bytes, bytes, str]]:
    """Yield mode, name and id of each entry of a tree; ids have `width` bytes."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, path = tree[at:end].partition(b" ")
        at = end + 1 + width
        yield mode, path, tree[end + 1 : at].hex()


def read_object(git_dir: str, name: str, kind: bytes) -> bytes | None:
    """The bytes of a loose object of this kind; None where it is in a pack, or damaged."""
    compressed = read_bytes(f"{git_dir}/objects/{name[:2]}/{name[2:]}")
    try:
        head, _, data = zlib.decompress(compressed or b"").partition(b"\0")
    except zlib.error:
        return None
    return data if head == b"%s %d" % (kind, len(data)) else None


def tree_of(git_dir: str, commit: CommitId) -> str | None:
    """The id of a commit's tree; None where git has to be asked."""
    data = read_object(git_dir, commit, b"commit")
    if (
        data is None
        or not data.startswith(b"tree ")
        or data[5 + _SHA1_HEX : 6 + _SHA1_HEX] != b"\n"
    ):
        return None
    return data[5 : 5 + _SHA1_HEX].decode()


def has_parent(git_dir: str, commit: CommitId, parent: CommitId | None) -> bool:
    """True if a commit can be read and this is its first parent, or (None) it has none."""
    data = read_object(git_dir, commit, b"commit")
    if data is None:
        return False
    after_tree = data.partition(b"\n")[2]
    return (
        after_tree.startswith(b"parent %s\n" % parent.encode())
        if parent
        else not after_tree.startswith(b"parent ")
    )


def blob_at(git_dir: str, commit: CommitId, path: bytes) -> str | None:
    """The blob id of a file in a commit, by its path from the root; None: ask git."""
    name = tree_of(git_dir, commit)
    *folders, last = path.split(b"/")
    for folder in folders:
        name = name and _entry_id(git_dir, name, folder, is_folder=True)
    return name and _entry_id(git_dir, name, last, is_folder=False)


def _entry_id(git_dir: str, tree: str, name: bytes, is_folder: bool) -> str | None:
    data = read_object(git_dir, tree, b"tree") or b""
    at = _id_offset(data, name, is_folder)
    return None if at is None else data[at : at + _SHA1].hex()


def _id_offset(tree: bytes, name: bytes, is_folder: bool) -> int | None:
    """The offset of an entry's id, after a NUL. Bytes are searched: there may be thousands."""
    for mode in (b"40000",) if is_folder else (b"100644", b"100755"):
        head = b"%s %s\0" % (mode, name)
        at = tree.find(head)
        while at >= 0:
            end = at + len(head)
            if (at == 0 or tree[at - _SHA1 - 1 : at - _SHA1] == b"\0") and end + _SHA1 <= len(tree):
                return end
            at = tree.find(head, at + 1)
    return None


# The index.


def _attribute_files(git_dir: str, root: str, path: bytes) -> tuple[str, ...]:
    """Where git looks for a file's attributes, unless `core.attributesFile` names another."""
    folders = [
        root,
        *(f"{root}/{os.fsdecode(path[:end])}" for end, byte in enumerate(path) if byte == _SLASH),
    ]
    home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
    shared = (
        f"{git_dir}/info/attributes",
        f"{home}/git/attributes",
        "/etc/gitattributes",
        "/usr/local/etc/gitattributes",
    )
    return (*shared, *(f"{folder}/.gitattributes" for folder in folders))


def may_be_converted(git_dir: str, root: str, path: bytes, data: bytes) -> bool:
    """True if git may store other bytes than those on disk: filters, line ends or `$Id$`."""
    attributes = _attribute_files(git_dir, root, path)
    return (
        b"\r" in data
        or b"$Id:" in data
        or any(b"filter" in (read_bytes(file) or b"") for file in attributes)
    )


def is_clean(git_dir: str, tree: str, path: bytes, blob: str, executable: bool) -> bool:
    """True if the index is exactly a tree, with this blob for a path. False: not known."""
    data = read_bytes(f"{git_dir}/index")
    if data is None or data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return False
    extensions = {name: data[start:end] for name, start, end in _extensions(data)}
    if (
        any(name[:1].islower() for name in extensions)
        or _root_tree(extensions.get(b"TREE", b"")) != tree
    ):
        return False  # extensions in small letters change the meaning of the entries
    mode = (_EXECUTABLE if executable else _REGULAR).to_bytes(4, "big")
    at = data.find(path + b"\0")
    while at >= 0:
        entry, flags = data[at - _ENTRY : at], int.from_bytes(data[at - 2 : at], "big")
        if (
            at >= _ENTRY
            and flags == len(path)
            and entry[_MODE] == mode
            and entry[_ID].hex() == blob
        ):
            return len(path) <= _NAME_BITS and not flags & _OTHER_BITS
        at = data.find(path + b"\0", at + 1)
    return False


def may_be_overlooked(git_dir: str, path: bytes) -> bool:
    """True if git may be told not to look at a file: unusual bits, or only git can read them."""
    data = read_bytes(f"{git_dir}/index") or b""
    at = data.find(path + b"\0")
    if data[:4] == b"DIRC" and (
        data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3")
        or any(name == b"link" for name, _, _ in _extensions(data))
    ):
        return True
    is_listed = False
    while at >= 0:
        is_listed = True
        if at >= _ENTRY and int.from_bytes(data[at - 2 : at], "big") == min(len(path), _NAME_BITS):
            return False
        at = data.find(path + b"\0", at + 1)
    return is_listed


def extensions_from(data: bytes, offset: int) -> list[tuple[bytes, int, int]] | None:
    """The extensions of an index from an offset on: name, start and end of each content.

    None where the bytes up to the checksum are not a row of extensions.
    """
    end, extensions = len(data) - _SHA1, []
    while offset + 8 <= end and data[offset : offset + 4].isalpha():
        start, offset = offset, offset + 8 + int.from_bytes(data[offset + 4 : offset + 8], "big")
        extensions.append((data[start : start + 4], start + 8, offset))
    return extensions if offset == end else None


def _extensions(data: bytes) -> list[tuple[bytes, int, int]]:
    """The extensions, found by the first name after which a row of them reaches the checksum."""
    for first in _FIRST_EXTENSIONS:
        start = data.find(first, _HEADER)
        while start >= 0:
            if extensions := extensions_from(data, start):
                return extensions
            start = data.find(first, start + 1)
    return []


def _root_tree(cached: bytes) -> str | None:
    """The cached tree of the whole index: path (empty), NUL, entries, subtrees, id."""
    counts, _, rest = cached.partition(b"\n")
    numbers = counts.removeprefix(b"\0").split(b" ")
    if (
        not counts.startswith(b"\0")
        or len(numbers) != 2
        or not all(count.isdigit() for count in numbers)
    ):
        return None
    return rest[:_SHA1].hex()
