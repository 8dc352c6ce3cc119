"""Mutants that are tried in memory: the code of their function is exchanged, however it is
decorated.
"""

import importlib
from pathlib import Path

import pytest
from mutant_trials import Trial, exchange
from mutations import mutants

TEXT = """
from contextlib import contextmanager
from functools import cached_property, lru_cache

NUMBER = 1

class Holder:
    @property
    def of_property(self):
        return 1

    @cached_property
    def of_cached_property(self):
        return 1

    @staticmethod
    def of_static():
        return 1

    @classmethod
    def of_class(cls):
        return 1

    def of_inner(self):
        def inner():
            return 1

        return inner()

@lru_cache
def of_cache():
    return 1

@contextmanager
def of_manager():
    yield 1

def read(name):
    if name == "of_cache":
        return of_cache()
    if name == "of_manager":
        with of_manager() as value:
            return value
    value = getattr(Holder(), name)
    return value() if callable(value) else value
"""
NAMES = [
    "of_property",
    "of_cached_property",
    "of_static",
    "of_class",
    "of_inner",
    "of_cache",
    "of_manager",
]


@pytest.mark.parametrize("name", NAMES)
def test_each_function_gets_its_changed_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    (tmp_path / f"exchanged_{name}.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(f"exchanged_{name}")
    before = [module.read(each) for each in NAMES]
    (mutant,) = (
        mutant
        for mutant in mutants(TEXT)
        if name in mutant.function.split(".") and mutant.name.endswith("1 -> (2)")
    )
    exchange(Trial(f"exchanged_{name}.py", mutant, {}))
    assert before == [1] * len(NAMES)
    assert {each: module.read(each) for each in NAMES} == dict.fromkeys(NAMES, 1) | {name: 2}


def test_what_runs_once_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "exchanged_constant.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    (mutant,) = (
        mutant
        for mutant in mutants(TEXT)
        if not mutant.function and mutant.name.endswith("1 -> (2)")
    )
    with pytest.raises((LookupError, AttributeError)):
        exchange(Trial("exchanged_constant.py", mutant, {}))
