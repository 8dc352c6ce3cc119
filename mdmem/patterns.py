"""Regular expressions that are compiled when they are first used: most commands use few of those that their modules have."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:  # noqa: N801 - called as the function that a type checker sees
        """As `re.compile`, without flags (they can be written as `(?i)`)."""

        def __init__(self, text):
            self._text = text

        def __getattr__(self, name):
            import re  # here, so that who uses none does not pay for loading it

            found = self.__dict__[name] = getattr(re.compile(self._text), name)
            return found


__all__ = ["pattern"]
