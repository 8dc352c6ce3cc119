"""The mutants of a module."""

from pathlib import Path

import pytest
from mutations import mutants

MODULES = sorted((Path(__file__).parent.parent / "mdmem").glob("*.py"))


def changes(code: str) -> list[str]:
    """The mutants of some code, by what changed, of a function that holds it."""
    inside = "".join(f"    {line}\n" for line in code.splitlines())
    return [mutant.name.removeprefix("f: ") for mutant in mutants(f"def f(a, b):\n{inside}")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a == b", ["a == b -> (a != b)"]),
        ("a < b", ["a < b -> (a <= b)"]),
        ("a not in b", ["a not in b -> (a in b)"]),
        ("a and b", ["a and b -> (a or b)"]),
        ("not a", ["not a -> (a)"]),
        ("a + b", ["a + b -> (a - b)"]),
        ("a / b", []),
        ("x = 7", ["7 -> (8)"]),
        ("x = -7", ["-7 -> (7)", "7 -> (8)"]),
        ("x = True", ["True -> (False)"]),
        ("x = None", []),
        ("x = 'word'", ["'word' -> ('wordXX')"]),
        ("x = b'word'", ["b'word' -> (b'wordXX')"]),
        ("x = 'words for people'", []),
        ("x = f'{a}: 7'", []),
        ("x = 'no ' + b", []),
        ("a(b)", ["a(b) -> pass"]),
        ("x = a(b, c=b)", ["a(b, c=b) -> (a(b))"]),
        ("return a", ["return a -> return None"]),
        ("return", []),
        ("return True", ["True -> (False)"]),
        ("raise a", ["raise a -> pass"]),
        ("a += b", ["a += b -> pass"]),
        ("if a:\n    b()", ["a -> (not a)", "b() -> pass"]),
        ("if a == b:\n    pass", ["a == b -> (a != b)"]),
        ("x = a if b else c", ["b -> (not b)"]),
        ("x = [c for c in a if c]", ["c -> (not c)"]),
        ("while a:\n    break", ["a -> (not a)", "break -> pass"]),
        ("x: 'int' = 7", ["7 -> (8)"]),
        ("from a import b", []),
        ("'What it is for.'", []),
        (
            "x = a == 1 or b == 1",
            [
                "a == 1 or b == 1 -> (a == 1 and b == 1)",
                "a == 1 -> (a != 1)",
                "1 -> (2)",
                "b == 1 -> (b != 1)",
                "1 -> (2) (2)",
            ],
        ),
    ],
)
def test_what_may_be_changed(code: str, expected: list[str]):
    assert changes(code) == expected


def test_where_a_change_is():
    text = "A = 1\n\n\nclass C:\n    B = 2\n\n    def m(self, x=3):\n        def inner():\n            return (\n                4\n            )\n"
    positions = [(mutant.function, mutant.line) for mutant in mutants(text)]
    assert [mutant.once for mutant in mutants(text)] == [True, True, True, False, False]
    assert [
        mutant.once for mutant in mutants("@lru_cache(maxsize=7)\ndef f():\n    return 7\n")
    ] == [True, True]
    assert positions == [
        ("", 1),
        ("", 5),
        ("", 7),
        ("C.m.inner", 9),
        ("C.m.inner", 10),
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_each_is_a_module_and_has_a_name_of_its_own(path: Path):
    made = mutants(path.read_text())
    assert len({mutant.name for mutant in made}) == len(made)
    for mutant in made[::100]:
        compile(mutant.text, path, "exec")
