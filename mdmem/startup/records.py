"""Dataclasses that a program can have by the hundred: `dataclass`, `field`, `replace` and `asdict` as the standard library has them.

The standard library writes and compiles the source of six methods for each class while a module is loaded: about 0.5 ms a class, and
7 ms to load the means, of which most commands use little. Here the methods are closures over the names of the fields; only what fills
the instances of a class is compiled, once there are many. What there is (frozen, slots, eq, defaults, factories, `compare`) behaves as it
does there, and `dataclasses.fields`, `asdict` and `replace` take these classes for their own; there is no inheritance between them. A type
checker sees the standard library's.
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
    _OFTEN = 100
    """From so many instances on it pays to compile what fills them (some 100 µs)."""
    _OBJECTS_OWN = ("__dict__", "__weakref__")
    _MADE_HERE = ("__init__", "__post_init__", "__repr__", "__reduce__", "__eq__", "__hash__", "__setattr__", "__delattr__")

    class _Field:
        """What `field` says of one."""

        __slots__ = ("compare", "default", "factory")

        def __init__(self, default, factory, compare):
            self.default, self.factory, self.compare = default, factory, compare

        def made(self):
            """What an instance has where nothing is given."""
            return self.default if self.factory is _MISSING else self.factory()

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
        if cls.__bases__ != (object,) or not space.keys().isdisjoint(_MADE_HERE):
            raise TypeError(f"{cls.__qualname__} is more than a record: it inherits, or has methods that are made here")
        fields = {}
        for name in space.get("__annotations__", ()):
            said = space.pop(name, _MISSING)
            if type(said).__hash__ is None:
                raise ValueError(f"{cls.__qualname__} would share the default of {name!r}: a default_factory makes one for each")
            fields[name] = said if isinstance(said, _Field) else _Field(said, _MISSING, True)
        names = tuple(fields)
        put = {} if slots else {name: _putting(name) for name in names}
        space |= {
            **({"__slots__": names} if slots else {}),
            **{"__qualname__": cls.__qualname__, "__match_args__": names, "__dataclass_fields__": _Fields(fields)},
            **{"__init__": _filling(fields, put), "__repr__": _shown, "__reduce__": _reduced},
        }
        if eq:
            values = attrgetter(*compared) if (compared := [name for name in names if fields[name].compare]) else _nothing
            space["__eq__"] = lambda one, other: values(one) == values(other) if other.__class__ is one.__class__ else NotImplemented
            space["__hash__"] = (lambda one: hash(values(one))) if frozen else None
        if frozen:
            space["__setattr__"] = space["__delattr__"] = _refuse
        made = type(cls)(cls.__name__, cls.__bases__, space)
        if slots:
            put.update((name, made.__dict__[name].__set__) for name in names)
        return made

    def _filling(fields, put):
        names, count = tuple(fields), len(fields)
        last = [(name, one) for name, one in fields.items() if one.default is not _MISSING or one.factory is not _MISSING]
        instances = 0

        def fill(self, *given, **named):
            nonlocal instances
            instances += 1
            if instances == _OFTEN:
                type(self).__init__ = _compiled(type(self), fields, put)
            if len(given) + len(named) < count:
                taken = names[: len(given)]
                for name, one in last:
                    if name not in named and name not in taken:
                        named[name] = one.made()
            if len(given) + len(named) != count or (given and named and not named.keys().isdisjoint(names[: len(given)])):
                raise _wrong(self, names, given, named)
            for name, value in zip(names, given, strict=False):
                put[name](self, value)
            for name, value in named.items():
                if name not in put:
                    raise _wrong(self, names, given, named)
                put[name](self, value)

        return fill

    def _compiled(cls, fields, put):
        """The same for a class of which there are many: source of its own, compiled, sets fields in a third of the time."""
        known = {f"_put_{name}": method for name, method in put.items()} | {"_MISSING": _MISSING}
        known |= {f"_default_{name}": one.default for name, one in fields.items()}
        known |= {f"_made_{name}": one.factory for name, one in fields.items()}
        defaults = [
            f"{name}=_default_{name}" if one.default is not _MISSING or one.factory is not _MISSING else name
            for name, one in fields.items()
        ]
        lines = [f"def fill(self, {', '.join(defaults)}):"]
        for name, one in fields.items():
            value = name if one.factory is _MISSING else f"_made_{name}() if {name} is _MISSING else {name}"
            lines.append(f" _put_{name}(self, {value})")
        exec("\n".join(lines), known)
        known["fill"].__qualname__ = f"{cls.__qualname__}.__init__"  # which says what is wrong with what is given
        return known["fill"]

    def _putting(name):
        def put(record, value):
            record.__dict__[name] = value

        return put

    def _wrong(record, names, given, named):
        kind = type(record).__qualname__
        if unknown := [name for name in named if name not in names]:
            return TypeError(f"{kind} has no field {unknown[0]!r}")
        if len(given) > len(names):
            return TypeError(f"{kind} is given too much")
        if twice := [name for name in names[: len(given)] if name in named]:
            return TypeError(f"{kind} is given {twice[0]!r} twice")
        missing = next(name for name in names[len(given) :] if name not in named)
        return TypeError(f"{kind} is not given {missing!r}")

    def _shown(record):
        return f"{type(record).__qualname__}({', '.join(f'{name}={getattr(record, name)!r}' for name in record.__match_args__)})"

    def _reduced(record):
        return type(record), tuple(getattr(record, name) for name in record.__match_args__)

    def _nothing(record):
        return ()

    def _refuse(record, name, *value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"{type(record).__qualname__} is frozen: {name!r} stays as it is")
