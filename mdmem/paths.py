"""`Path` as `pathlib` has it, for a program that is over before that is loaded: with what it needs it takes 5 ms.

What is used on the way of every command is done here by the system's own calls; for all else the library is loaded, and asked. The two kinds
mix: each takes the other wherever a path is taken, and they are equal where they name the same. A type checker sees the library's.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path as Path
else:
    import os
    import stat
    import sys
    from errno import EBADF, ELOOP, ENOENT, ENOTDIR

    _NOTHING_THERE = (ENOENT, ENOTDIR, EBADF, ELOOP)

    class Path:
        """As `pathlib.Path`, of a POSIX system."""

        __slots__ = ("_text",)

        def __init__(self, *parts):
            self._text = _plain(os.path.join("", *parts))

        @classmethod
        def cwd(cls):
            return _of(os.getcwd())

        def __fspath__(self):
            return self._text

        __str__ = __fspath__

        def __repr__(self):
            return f"Path({self._text!r})"

        def __eq__(self, other):
            return self._text == other.__fspath__() if isinstance(other, os.PathLike) else NotImplemented

        def __hash__(self):
            """The library's, so that the two kinds are one in a set."""
            return hash(self.parts if sys.version_info < (3, 12) else self._text)

        def __lt__(self, other):
            return self.parts < other.parts if isinstance(other, os.PathLike) else NotImplemented

        def __truediv__(self, other):
            return Path(self._text, other)

        def __rtruediv__(self, other):
            return Path(other, self._text)

        def __getattr__(self, name):
            """What is asked for seldom: the library's answer."""
            if name.startswith("_"):
                raise AttributeError(name)
            import pathlib

            return _as_ours(getattr(pathlib.Path(self._text), name))

        @property
        def parts(self):
            text = self._text
            root = text[: 2 if text[:2] == "//" else text[:1] == "/"]
            return tuple(part for part in (root, *text.split("/")) if part not in ("", "."))

        @property
        def name(self):
            name = self._text.rpartition("/")[2]
            return "" if name == "." else name

        @property
        def suffix(self):
            name = self.name
            dot = name.rfind(".")
            return name[dot:] if 0 < dot < len(name) - 1 else ""

        @property
        def stem(self):
            return self.name.removesuffix(self.suffix)

        @property
        def parent(self):
            folder, slash, _ = self._text.rpartition("/")
            return _of("//" if folder == "/" else folder or slash or ".")

        def with_name(self, name):
            if not self.name or name in ("", ".") or "/" in name:
                return self.__getattr__("with_name")(name)
            return self.parent / name

        @property
        def parents(self):
            found = []
            above, here = self.parent, self
            while above._text != here._text:
                found.append(above)
                above, here = above.parent, above
            return tuple(found)

        def is_relative_to(self, *other):
            folder = os.fspath(Path(*other))
            here = self._text
            if folder == "." or "//" in (folder[:2], here[:2]):
                return self.__getattr__("is_relative_to")(*other)
            return here == folder or here.startswith(folder if folder == "/" else f"{folder}/")

        def relative_to(self, *other):
            folder = os.fspath(Path(*other))
            if folder in (".", "/", "//") or not self.is_relative_to(folder):
                return self.__getattr__("relative_to")(*other)  # which says why it cannot be
            return _of(self._text[len(folder) + 1 :] or ".")

        def absolute(self):
            return Path(os.getcwd(), self._text)

        def resolve(self):
            return _of(os.path.realpath(self._text))

        def stat(self):
            return os.stat(self._text)

        def lstat(self):
            return os.lstat(self._text)

        def exists(self):
            return _mode(os.stat, self._text) != 0

        def is_file(self):
            return stat.S_ISREG(_mode(os.stat, self._text))

        def is_dir(self):
            return stat.S_ISDIR(_mode(os.stat, self._text))

        def is_symlink(self):
            return stat.S_ISLNK(_mode(os.lstat, self._text))

        def iterdir(self):
            for name in os.listdir(self._text):
                yield Path(self._text, name)

        def open(self, mode="r", buffering=-1, encoding=None, errors=None, newline=None):
            return open(self._text, mode, buffering, encoding, errors, newline)

        def read_bytes(self):
            with open(self._text, "rb") as file:
                return file.read()

        def read_text(self, encoding=None, errors=None):
            with open(self._text, encoding=encoding, errors=errors) as file:
                return file.read()

        def unlink(self, missing_ok=False):
            try:
                os.unlink(self._text)
            except FileNotFoundError:
                if not missing_ok:
                    raise

        def rename(self, target):
            os.rename(self._text, target)
            return Path(target)

        def replace(self, target):
            os.replace(self._text, target)
            return Path(target)

    def _of(text):
        """The path of a text that is as the library would write it."""
        path = Path.__new__(Path)
        path._text = text
        return path

    def _plain(text):
        """A path as the library writes it: nothing said twice, no slash at its end."""
        if text and text[:2] != "./" and text[-2:] != "/." and "//" not in text and "/./" not in text:
            return text[:-1] if text[-1] == "/" != text else text
        import pathlib

        return str(pathlib.Path(text))

    def _mode(look, text):
        """The mode of what is there; 0 where nothing is, or cannot be."""
        try:
            return look(text).st_mode
        except OSError as problem:
            if problem.errno not in _NOTHING_THERE:
                raise
        except ValueError:  # a NUL in the name
            pass
        return 0

    def _as_ours(value):
        import pathlib

        if isinstance(value, pathlib.PurePath):
            return Path(value)
        if callable(value):
            return lambda *given, **named: _as_ours(value(*given, **named))
        if hasattr(value, "__next__"):
            return map(_as_ours, value)
        return value
