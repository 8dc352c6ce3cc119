"""The names of the library that are here, beside the library's own."""

import contextlib
import copy
import datetime
import enum
import functools
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem import library

STANDARD: Mapping[str, Any] = {**vars(contextlib), **vars(enum), **vars(functools)}
OWN: Mapping[str, Any] = vars(library)
BOTH = pytest.mark.parametrize("words", [STANDARD, OWN], ids=["standard", "own"])


class Tea(library.StrEnum):
    BLACK = "black"
    GREEN = "green"

    @property
    def is_strong(self) -> bool:
        return self is Tea.BLACK


def test_the_classes_are_the_librarys():
    for name in ("date", "datetime", "time", "timedelta", "tzinfo", "UTC"):
        assert getattr(library, name) is getattr(datetime, name)


class TestStrEnum:
    def test_members(self):
        assert [*Tea] == ["black", "green"]
        assert (Tea.BLACK.name, Tea.BLACK.value, len(Tea), Tea["GREEN"]) == ("BLACK", "black", 2, Tea.GREEN)
        assert Tea("black") is Tea.BLACK
        assert isinstance(Tea.BLACK, Tea)
        assert (Tea.BLACK.is_strong, Tea.GREEN.is_strong) == (True, False)
        assert f"{Tea.BLACK}" == str(Tea.BLACK) == "black"
        assert repr(Tea.BLACK) == "<Tea.BLACK: 'black'>"
        assert {Tea.BLACK: 1}["black"] == 1

    @pytest.mark.parametrize("value", ["white", "", None, 5, [], "BLACK"])
    def test_what_is_none(self, value: Any):
        with pytest.raises(ValueError, match="is not a valid Tea"):
            Tea(value)
        with pytest.raises(KeyError):
            Tea["white"]

    def test_copies_are_the_member(self):
        assert copy.copy(Tea.BLACK) is copy.deepcopy(Tea.BLACK) is pickle.loads(pickle.dumps(Tea.BLACK)) is Tea.BLACK

    def test_stays_as_it_is(self):
        with pytest.raises(AttributeError):
            Tea.BLACK.name = "x"  # type: ignore[misc]

    def test_patterns(self):
        match Tea("green"):
            case Tea.BLACK:
                found = 1
            case Tea.GREEN:
                found = 2
        assert found == 2


@BOTH
class TestCaches:
    def test_once(self, words: Mapping[str, Any]):
        asked: list[int] = []

        @words["lru_cache"](maxsize=2)
        def double(number: int) -> int:
            """Twice as much."""
            asked.append(number)
            return 2 * number

        assert [double(number) for number in (1, 1, 2, 3, 1)] == [2, 2, 4, 6, 2]
        assert asked == [1, 2, 3, 1]
        assert (double.__name__, double.__doc__, double.__wrapped__(5)) == ("double", "Twice as much.", 10)
        double.cache_clear()
        double(1)
        assert asked == [1, 2, 3, 1, 5, 1]
        assert tuple(double.cache_info()) == (0, 1, 2, 1)

    def test_without_a_number_and_of_what_has_no_name(self, words: Mapping[str, Any]):
        assert words["lru_cache"](functools.partial(max, 3))(2) == 3
        assert words["cache"](len)("ab") == 2

    def test_property(self, words: Mapping[str, Any]):
        class Text:
            asked = 0

            @words["cached_property"]
            def size(self) -> int:
                """How long."""
                self.asked += 1
                return 5

        text = Text()
        assert (text.size, text.size, text.asked) == (5, 5, 1)
        assert Text.size.__doc__ == "How long."


@BOTH
class TestBlocks:
    @pytest.mark.parametrize("raised", [None, OSError, FileNotFoundError, KeyError, StopIteration])
    @pytest.mark.parametrize("inside", ["pass on", "swallow", "raise another", "clean up"])
    def test_what_comes_of_an_error(self, words: Mapping[str, Any], raised: type[Exception] | None, inside: str):
        done: list[str] = []

        @words["contextmanager"]
        def block(name: str) -> Iterator[str]:
            try:
                yield name
            except OSError:
                if inside == "raise another":
                    raise ValueError("another") from None
                if inside != "swallow":
                    raise
            finally:
                done.append(inside)

        def use() -> str:
            with block("there") as name:
                assert name == "there"
                if raised:
                    raise raised
            return "passed"

        expected: dict[str, Callable[[], type[Exception] | str]] = {
            "swallow": lambda: "passed" if raised and issubclass(raised, OSError) else raised or "passed",
            "raise another": lambda: ValueError if raised and issubclass(raised, OSError) else raised or "passed",
        }
        meant = expected.get(inside, lambda: raised or "passed")()
        if isinstance(meant, str):
            assert use() == meant
        else:
            with pytest.raises(meant):
                use()
        assert done == [inside]

    def test_one_that_does_not_end(self, words: Mapping[str, Any]):
        @words["contextmanager"]
        def block() -> Iterator[None]:
            yield
            yield

        with pytest.raises(RuntimeError), block():
            pass

    def test_suppress(self, words: Mapping[str, Any]):
        with words["suppress"](KeyError, OSError):
            raise FileNotFoundError
        with pytest.raises(ValueError, match="not this"), words["suppress"](KeyError):
            raise ValueError("not this")


@given(things=st.lists(st.sampled_from("abc")))
def test_counted(things: list[str]):
    found = library.counted(iter(things))
    assert {thing: found[thing] for thing in "abcd"} == {thing: things.count(thing) for thing in "abcd"}
