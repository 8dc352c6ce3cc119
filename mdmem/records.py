"""Dataclasses that a program can have by the hundred: `dataclass`, `field`, `replace` and `asdict` as the standard library has them.

The standard library writes and compiles the source of six methods for each class while a module is loaded: about 0.5 ms a class, and
7 ms to load the means, of which most commands use little. Here the methods are closures over the names of the fields. What there is
(frozen, slots, eq, defaults, factories, `compare`) behaves as it does there, and `dataclasses.fields`, `asdict` and `replace` take these
classes for their own; there is no inheritance between them. A type checker sees the standard library's.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    from operator import attrgetter

    _MISSING = object()
    _OBJECTS_OWN = ("__dict__", "__weakref__")

    class _Field:
        """What `field` says of one."""

        __slots__ = ("compare", "default", "factory")

        def __init__(self, default, factory, compare):
            self.default, self.factory, self.compare = default, factory, compare

    class _Fields:
        """`__dataclass_fields__`, by which the standard library knows a dataclass: made by it, when it asks."""

        def __init__(self, fields):
            self._fields = fields

        def __get__(self, record, cls):
            import dataclasses

            told = []
            for name, one in self._fields.items():
                given = {"default": one.default, "default_factory": one.factory, "compare": one.compare}
                words = {word: value for word, value in given.items() if value is not _MISSING}
                told.append((name, cls.__annotations__[name], dataclasses.field(**words)))
            return dataclasses.make_dataclass(cls.__name__, told).__dataclass_fields__

    def field(*, default=_MISSING, default_factory=_MISSING, compare=True):
        """As `dataclasses.field`."""
        return _Field(default, default_factory, compare)

    def replace(record, /, **changes):
        """As `dataclasses.replace`."""
        return type(record)(**asdict(record) | changes)

    def asdict(record):
        """As `dataclasses.asdict`, of one that holds no others."""
        return {name: getattr(record, name) for name in record.__match_args__}

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """As `dataclasses.dataclass`; the methods are made here."""
        if cls is None:
            return lambda decorated: dataclass(decorated, frozen=frozen, slots=slots, eq=eq)
        space = {name: value for name, value in cls.__dict__.items() if name not in _OBJECTS_OWN}
        fields = {}
        for name in space.get("__annotations__", ()):
            said = space.pop(name, _MISSING)
            fields[name] = said if isinstance(said, _Field) else _Field(said, _MISSING, True)
        if slots:
            space["__slots__"] = tuple(fields)
        made = type(cls)(cls.__name__, cls.__bases__, {**space, "__qualname__": cls.__qualname__})
        names = made.__match_args__ = tuple(fields)
        made.__dataclass_fields__ = _Fields(fields)
        made.__init__ = _init(made, fields, slots)
        made.__repr__ = lambda record: f"{made.__qualname__}({', '.join(f'{name}={getattr(record, name)!r}' for name in names)})"
        made.__reduce__ = lambda record: (made, tuple(getattr(record, name) for name in names))
        if eq:
            _compare(made, [name for name in names if fields[name].compare], frozen)
        if frozen:
            made.__setattr__ = made.__delattr__ = _refuse
        return made

    def _init(cls, fields, slots):
        names, count = tuple(fields), len(fields)
        last = [(name, one) for name, one in fields.items() if one.default is not _MISSING or one.factory is not _MISSING]
        put = {name: cls.__dict__[name].__set__ for name in names} if slots else {name: _putting(name) for name in names}
        in_order = tuple(put.values())

        def fill(self, *given, **named):
            if len(given) + len(named) < count:
                taken = names[: len(given)]
                for name, one in last:
                    if name not in named and name not in taken:
                        named[name] = one.default if one.factory is _MISSING else one.factory()
            if len(given) + len(named) != count or (given and named and not named.keys().isdisjoint(names[: len(given)])):
                raise _wrong(cls, names, given, named)
            for set_value, value in zip(in_order, given, strict=False):
                set_value(self, value)
            for name, value in named.items():
                if name not in put:
                    raise _wrong(cls, names, given, named)
                put[name](self, value)

        return fill

    def _putting(name):
        def put(record, value):
            record.__dict__[name] = value

        return put

    def _wrong(cls, names, given, named):
        if unknown := [name for name in named if name not in names]:
            return TypeError(f"{cls.__qualname__} has no field {unknown[0]!r}")
        if len(given) > len(names) or (twice := [name for name in names[: len(given)] if name in named]):
            return TypeError(f"{cls.__qualname__} is given {'too much' if len(given) > len(names) else f'{twice[0]!r} twice'}")
        missing = next(name for name in names[len(given) :] if name not in named)
        return TypeError(f"{cls.__qualname__} is not given {missing!r}")

    def _compare(cls, names, frozen):
        values = attrgetter(*names) if names else lambda record: ()
        cls.__eq__ = lambda record, other: values(record) == values(other) if other.__class__ is cls else NotImplemented
        cls.__hash__ = (lambda record: hash(values(record))) if frozen else None

    def _refuse(record, name, *value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"{type(record).__qualname__} is frozen: {name!r} stays as it is")
