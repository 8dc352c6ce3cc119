"""Which tests `make near` finds for a change."""

from pathlib import Path

import near
import pytest


@pytest.mark.costly
def test_modules_that_are_loaded_by_name_lead_to_tests_of_theirs():
    _, imports = near.imports_of_modules()
    for module, test in [
        ("verbs.log", "test_log"),
        ("cli.writing", "test_cli_writes"),
        ("queries.search", "test_search_time"),
        ("changes.contradict", "test_contradict"),
    ]:
        assert test in near.steps_to({f"mdmem.{module}"}, imports), module


DIFF = """\
--- a/mdmem/model/writes.py
+++ b/mdmem/model/writes.py
@@ -9,0 +9 @@ class Forget:
+    everywhere: bool = False
@@ -20 +20,2 @@ def is_night(name: str) -> bool:
-def older(name):
+    def newer(self) -> None:
 def unchanged():
"""


def test_tests_that_name_what_differs_come_first():
    differing = near.definitions(DIFF)
    assert differing == {"Forget", "is_night", "older", "newer"}
    assert near.names_any(Path("tests/test_changes.py"), differing)
    assert not near.names_any(Path("tests/test_launch.py"), differing)
