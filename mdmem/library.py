"""What `collections`, `contextlib`, `datetime`, `enum`, `functools` and `operator` have, by the part of the interpreter that does the work.

A command that takes 20 ms would pay 4 ms for loading these modules, for a few names in each. Those names are here, and do what they do there,
as far as it is used; a type checker sees the library's.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import OrderedDict, defaultdict, deque
    from collections.abc import Iterable, Mapping
    from contextlib import contextmanager, suppress
    from datetime import UTC, date, datetime, time, timedelta, tzinfo
    from enum import StrEnum
    from functools import cache, cached_property, lru_cache, partial
    from operator import attrgetter, itemgetter, mul
    from typing import TypeVar

    T = TypeVar("T")

    def counted(things: Iterable[T]) -> defaultdict[T, int]:
        """How often each of some things is there; 0 for all others."""
else:
    from _collections_abc import Mapping

    try:
        from _collections import OrderedDict, _count_elements, defaultdict, deque
        from _datetime import date, datetime, time, timedelta, timezone, tzinfo
        from _functools import _lru_cache_wrapper, partial
        from _operator import attrgetter, itemgetter, mul
    except ImportError:  # an interpreter that has them elsewhere
        from collections import OrderedDict, _count_elements, defaultdict, deque
        from datetime import date, datetime, time, timedelta, timezone, tzinfo
        from functools import _lru_cache_wrapper, partial
        from operator import attrgetter, itemgetter, mul

    UTC = timezone.utc

    # functools

    def lru_cache(maxsize=128):
        if callable(maxsize):
            return lru_cache()(maxsize)

        def remembering(function):
            found = _lru_cache_wrapper(function, maxsize, False, _figures)
            for name in ("__module__", "__name__", "__qualname__", "__doc__"):
                if hasattr(function, name):
                    setattr(found, name, getattr(function, name))
            found.__wrapped__ = function
            return found

        return remembering

    def cache(function):
        return lru_cache(None)(function)

    def _figures(*figures):
        """Hits, misses, the most that is kept and how much is."""
        return figures

    class cached_property:  # noqa: N801 - as it is called there
        def __init__(self, function):
            self._function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            found = instance.__dict__[self._name] = self._function(instance)
            return found

    # contextlib

    class suppress:  # noqa: N801 - as it is called there
        def __init__(self, *kinds):
            self._kinds = kinds

        def __enter__(self):
            pass

        def __exit__(self, kind, problem, trace):
            return kind is not None and issubclass(kind, self._kinds)

    def contextmanager(function):
        def called(*given, **named):
            return _Block(function(*given, **named))

        called.__name__, called.__doc__, called.__wrapped__ = function.__name__, function.__doc__, function
        return called

    class _Block:
        """A generator that yields once, as what surrounds a block."""

        def __init__(self, generator):
            self._generator = generator

        def __enter__(self):
            return next(self._generator)

        def __exit__(self, kind, problem, trace):
            try:
                if kind is None:
                    next(self._generator)
                else:
                    self._generator.throw(problem)
            except StopIteration as end:
                return kind is not None and end is not problem
            except BaseException as other:
                if other is problem or (isinstance(problem, StopIteration) and other.__cause__ is problem):
                    return False
                raise
            raise RuntimeError("the generator goes on after the block")

    # collections

    def counted(things):
        found = defaultdict(int)
        _count_elements(found, things)
        return found

    # enum

    class _Enumeration(type):
        """The type of the classes of members."""

        def __new__(mcs, name, bases, space):
            texts = {word: text for word, text in space.items() if isinstance(text, str) and word[0] != "_"}
            cls = super().__new__(mcs, name, bases, {word: thing for word, thing in space.items() if word not in texts})
            members = {}
            for word, text in texts.items():
                member = members[word] = str.__new__(cls, text)
                member.__dict__.update(name=word, value=text)
                setattr(cls, word, member)
            cls.__members__ = members
            cls._of = {member.value: member for member in members.values()}
            return cls

        def __call__(cls, value):
            try:
                return cls._of[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__qualname__}") from None

        def __getitem__(cls, name):
            return cls.__members__[name]

        def __iter__(cls):
            return iter(cls.__members__.values())

        def __len__(cls):
            return len(cls.__members__)

    class StrEnum(str, metaclass=_Enumeration):
        def __repr__(self):
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __reduce_ex__(self, protocol):
            return type(self), (self.value,)

        def __setattr__(self, name, value):
            raise AttributeError(f"{self!r} stays as it is")


__all__ = [
    "UTC",
    "Mapping",
    "OrderedDict",
    "StrEnum",
    "attrgetter",
    "cache",
    "cached_property",
    "contextmanager",
    "counted",
    "date",
    "datetime",
    "defaultdict",
    "deque",
    "itemgetter",
    "lru_cache",
    "mul",
    "partial",
    "suppress",
    "time",
    "timedelta",
    "tzinfo",
]
