"""Which tests `make near` finds for a change."""

import near


def test_modules_that_are_loaded_by_name_lead_to_tests_of_theirs():
    _, imports = near.imports_of_modules()
    for module, test in [
        ("verbs.log", "test_log"),
        ("cli.writing", "test_cli_writes"),
        ("queries.search", "test_search_time"),
        ("changes.contradict", "test_contradict"),
    ]:
        assert test in near.steps_to({f"mdmem.{module}"}, imports), module
