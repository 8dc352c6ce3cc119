"""A cheap subset of `dataclasses`: `dataclass`, `field`, `replace` and `asdict`.

`dataclasses` compiles six methods for each class at import, 0.5 ms a class, and loads `inspect`;
the records of a `log` or `search` would cost 64 ms more. Here methods are closures over the field
names, and a constructor is compiled after a hundred instances. Not supported: inheritance, order,
kw_only, InitVar, init=False, and `asdict` of nested records. With `MDMEM_RECORDS=dataclasses` in
the environment this module is the standard library's (`make test-plain`). To remove it, delete it
and import from `dataclasses`, which type checkers see already.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.environ.get("MDMEM_RECORDS") == "dataclasses":
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    from operator import attrgetter

    _MISSING = object()
    _COMPILE_AFTER = 100  # instances; compiling a constructor takes some 100 µs
    _OBJECT_ATTRIBUTES = ("__dict__", "__weakref__")
    _GENERATED = (
        "__init__",
        "__repr__",
        "__reduce__",
        "__eq__",
        "__hash__",
        "__setattr__",
        "__delattr__",
    )

    class _Field:
        __slots__ = ("compare", "default", "factory")

        def __init__(self, default, factory, compare):
            self.default, self.factory, self.compare = default, factory, compare

        @property
        def is_required(self):
            return self.default is _MISSING and self.factory is _MISSING

        def make_default(self):
            return self.default if self.factory is _MISSING else self.factory()

    class _StandardFields:
        # `__dataclass_fields__`, made by the standard library when it asks for them

        def __init__(self, fields):
            self._fields = fields

        def __get__(self, record, cls):
            return _standard_class(cls, self._fields).__dataclass_fields__

    class _Signature:
        # `__signature__`, for `inspect.signature` and `help`

        def __init__(self, fields):
            self._fields = fields

        def __get__(self, record, cls):
            from inspect import signature

            return signature(_standard_class(cls, self._fields))

    _standard_classes = {}

    def _standard_class(cls, fields):
        if cls not in _standard_classes:
            _standard_classes[cls] = _make_standard_class(cls, fields)
        return _standard_classes[cls]

    def _make_standard_class(cls, fields):
        import dataclasses

        described = []
        for name, options in fields.items():
            arguments = {
                "default": options.default,
                "default_factory": options.factory,
                "compare": options.compare,
            }
            present = {
                keyword: value for keyword, value in arguments.items() if value is not _MISSING
            }
            described.append((name, cls.__annotations__[name], dataclasses.field(**present)))
        return dataclasses.make_dataclass(cls.__name__, described)

    def field(*, default=_MISSING, default_factory=_MISSING, compare=True):
        """Like `dataclasses.field`."""
        return _Field(default, default_factory, compare)

    def replace(record, /, **changes):
        """Like `dataclasses.replace`."""
        return type(record)(**asdict(record) | changes)

    def asdict(record):
        """Like `dataclasses.asdict`, for a record that holds no other record."""
        return {name: getattr(record, name) for name in record.__match_args__}

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """Like `dataclasses.dataclass`.

        Raises:
            TypeError: the class inherits, or defines a method that is made here.
            ValueError: a default is mutable, and would be shared.
        """
        if cls is None:
            return lambda decorated: dataclass(decorated, frozen=frozen, slots=slots, eq=eq)
        namespace = {
            name: value for name, value in cls.__dict__.items() if name not in _OBJECT_ATTRIBUTES
        }
        if cls.__bases__ != (object,) or not namespace.keys().isdisjoint(_GENERATED):
            raise TypeError(
                f"{cls.__qualname__} is more than a record: it inherits, or defines a method that"
                " is made here"
            )
        fields = {}
        for name in cls.__annotations__:
            default = namespace.pop(name, _MISSING)
            if type(default).__hash__ is None:
                raise ValueError(
                    f"{cls.__qualname__} would share the default of {name!r}: a default_factory"
                    " makes one for each"
                )
            fields[name] = (
                default if isinstance(default, _Field) else _Field(default, _MISSING, True)
            )
        names = tuple(fields)
        setters = {} if slots else {name: _dict_setter(name) for name in names}
        namespace |= {
            **({"__slots__": names} if slots else {}),
            **{
                "__qualname__": cls.__qualname__,
                "__match_args__": names,
                "__dataclass_fields__": _StandardFields(fields),
            },
            **{
                "__init__": _constructor(fields, setters),
                "__repr__": _repr,
                "__reduce__": _reduce,
                "__signature__": _Signature(fields),
            },
        }
        if eq:
            compared = [name for name in names if fields[name].compare]
            values = attrgetter(*compared) if compared else _no_values
            namespace["__eq__"] = lambda left, right: (
                values(left) == values(right)
                if right.__class__ is left.__class__
                else NotImplemented
            )
            namespace["__hash__"] = (lambda record: hash(values(record))) if frozen else None
        if frozen:
            namespace["__setattr__"] = namespace["__delattr__"] = _refuse_change
        record_class = type(cls)(cls.__name__, cls.__bases__, namespace)
        if slots:
            setters.update((name, record_class.__dict__[name].__set__) for name in names)
        return record_class

    def _constructor(fields, setters):
        """An `__init__` that looks up names; after many instances it compiles its replacement."""
        names, count = tuple(fields), len(fields)
        optional = [(name, options) for name, options in fields.items() if not options.is_required]
        instances = 0

        def construct(self, *positional, **named):
            nonlocal instances
            instances += 1
            if instances == _COMPILE_AFTER:
                type(self).__init__ = _compiled_constructor(type(self), fields, setters)
            if len(positional) + len(named) < count:
                filled = names[: len(positional)]
                for name, options in optional:
                    if name not in named and name not in filled:
                        named[name] = options.make_default()
            if len(positional) + len(named) != count or (
                positional and named and not named.keys().isdisjoint(names[: len(positional)])
            ):
                raise _argument_error(self, names, positional, named)
            for name, value in zip(names, positional, strict=False):
                setters[name](self, value)
            for name, value in named.items():
                if name not in setters:
                    raise _argument_error(self, names, positional, named)
                setters[name](self, value)
            if hasattr(self, "__post_init__"):
                self.__post_init__()

        return construct

    def _compiled_constructor(cls, fields, setters):
        """An `__init__` from source of its own, which sets fields in a third of the time."""
        namespace = {f"_set_{name}": setter for name, setter in setters.items()} | {
            "_MISSING": _MISSING
        }
        namespace |= {f"_default_{name}": options.default for name, options in fields.items()}
        namespace |= {f"_make_{name}": options.factory for name, options in fields.items()}
        parameters = [
            name if options.is_required else f"{name}=_default_{name}"
            for name, options in fields.items()
        ]
        lines = [f"def __init__(self, {', '.join(parameters)}):"]
        for name, options in fields.items():
            value = (
                name
                if options.factory is _MISSING
                else f"_make_{name}() if {name} is _MISSING else {name}"
            )
            lines.append(f" _set_{name}(self, {value})")
        if hasattr(cls, "__post_init__"):
            lines.append(" self.__post_init__()")
        exec("\n".join(lines), namespace)
        # Named in the interpreter's own messages on wrong arguments.
        namespace["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return namespace["__init__"]

    def _dict_setter(name):
        def set_value(record, value):
            record.__dict__[name] = value

        return set_value

    def _argument_error(record, names, positional, named):
        kind = type(record).__qualname__
        if unknown := [name for name in named if name not in names]:
            return TypeError(f"{kind} has no field {unknown[0]!r}")
        if len(positional) > len(names):
            return TypeError(f"{kind} takes {len(names)} values, but {len(positional)} were given")
        if twice := [name for name in names[: len(positional)] if name in named]:
            return TypeError(f"{kind} got {twice[0]!r} twice")
        missing = next(name for name in names[len(positional) :] if name not in named)
        return TypeError(f"{kind} needs {missing!r}")

    def _repr(record):
        values = (f"{name}={getattr(record, name)!r}" for name in record.__match_args__)
        return f"{type(record).__qualname__}({', '.join(values)})"

    def _reduce(record):
        return type(record), tuple(getattr(record, name) for name in record.__match_args__)

    def _no_values(record):
        return ()

    def _refuse_change(record, name, *value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(
            f"{type(record).__qualname__} is frozen: {name!r} cannot be changed"
        )
