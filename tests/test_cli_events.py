"""The events that commands record."""

from commandline import TOKEN, Shell
from workspaces import STATE

from mdmem import events
from mdmem.githooks import hooks as githooks

EVENTS = [
    (("init", "--no-hooks"), ("init", "done", None)),
    (("init", "--no-hooks"), ("init", "unchanged", None)),
    (("hooks", "install"), ("hooks-install", "done", None)),
    (("hooks", "install"), ("hooks-install", "unchanged", None)),
    (("log", "zebra one", "--actor", "agent/a", "--session", "s1"), ("log", "done", None)),
    (("log", "zebra one"), ("log", "unchanged", None)),
    (("log", "zebra two", "--dry-run"), ("log", "unchanged", None)),
    (("log", f"zebra {TOKEN}"), ("log", "refused", "secret-found")),
    (("remember", "zebra three", "--reason", "zebra reason"), ("remember", "done", None)),
    (("edit-section", "Employer", "--append", "- zebra four"), ("edit-section", "done", None)),
    (
        ("edit-section", "zebra five", "--append", "- x"),
        ("edit-section", "refused", "section-not-found"),
    ),
    (("forget", "zebra six"), ("forget", "refused", "fact-not-found")),
    (("forget", "zebra three"), ("forget", "done", None)),
    (("contradicts", "pet: cat", "pet: dog", "--reason", "zebra"), ("contradicts", "done", None)),
    (("conflicts", "--resolve", "pet: cat", "pet: dog"), ("conflicts-resolve", "done", None)),
    (("revert", "HEAD~2"), ("revert", "done", None)),
    (("history", "zebra three"), ("history", "done", None)),
    (("history", "zebra"), ("history", "refused", "section-not-found")),
    (("blame", "Employer"), ("blame", "done", None)),
    (("when", "zebra four"), ("when", "done", None)),
    (("task", "start", "zebra eight", "zebra nine"), ("edit-section", "done", None)),
    (("task", "done", "zebra eight", "zebra ten"), ("task-done", "done", None)),
    (("task", "done", "zebra eight", "zebra ten"), ("task-done", "unchanged", None)),
    (("task", "done", "zebra eight", "zebra eleven"), ("task-done", "refused", "task-not-found")),
    (("review",), ("review", "done", None)),
    (("review", "--apply"), ("review-apply", "unchanged", None)),
    (
        ("remember", "zebra twelve", "--propose", "--reason", "zebra"),
        ("propose-remember", "done", None),
    ),
    (("log", f"zebra {TOKEN}", "--propose"), ("propose-log", "refused", "secret-found")),
    (("proposals",), ("proposals", "done", None)),
    (("proposals", "zebra"), ("proposals", "refused", "proposal-not-found")),
    (("search", "zebra", "--proposed"), ("search-proposed", "done", None)),
    (("accept", "zebra"), ("accept", "refused", "proposal-not-found")),
    (("reject", "zebra", "--reason", "zebra"), ("reject", "refused", "proposal-not-found")),
    (("propose", "main"), ("propose", "refused", "nothing-to-propose")),
    (("search", "zebra seven"), ("search", "done", None)),
    (("search", "zebra", "--since", "zebra"), ("search", "refused", "usage")),
    (("context", "zebra seven"), ("context", "done", None)),
    (("context",), ("context", "done", None)),
    (("flush", "--window", "100000", "--tokens", "90000", "--cycle", "0"), ("flush", "done", None)),
    (
        ("flush", "--window", "100000", "--tokens", "90000", "--cycle", "0"),
        ("flush", "unchanged", None),
    ),
    (("flush", "--window", "9", "--transcript", "zebra"), ("flush", "refused", "file-not-found")),
    (("log", "zebra <mdmem-context>"), ("log", "refused", "recalled-text")),
    (("save",), ("save", "done", None)),
    (("reindex",), ("reindex", "done", None)),
    (("doctor",), ("doctor", "unchanged", None)),
    (("forget", "zebra one", "--purge", "--dry-run"), ("plan-purge", "unchanged", None)),
    (("forget", "zebra one", "--purge", "--yes"), ("purge", "done", None)),
    (
        ("forget", "zebra one", "--purge", "--yes", "--reason", "zebra"),
        ("purge", "unchanged", None),
    ),
    (("hooks", "uninstall"), ("hooks-uninstall", "done", None)),
]


def test_every_verb_leaves_an_event_and_no_text(shell: Shell):
    shell.write("memory/new.md", "- new\n")
    for words, expected in EVENTS:
        shell.run(*words)
        *_, last = events.read_events(shell.folder / STATE)
        assert (last.verb, last.outcome, last.code) == expected, words
        assert last.ms >= 0
    written = list(events.read_events(shell.folder / STATE))
    assert [event.verb for event in written] == [expected[0] for _, expected in EVENTS]
    assert [(event.actor, event.session) for event in written if event.session] == [
        ("agent/a", "s1")
    ]
    kept = b"".join(path.read_bytes() for path in (shell.folder / STATE).glob("events*.jsonl"))
    assert b"zebra" not in kept
    assert TOKEN.encode() not in kept


def test_a_refused_commit_is_an_event_and_one_that_passes_is_none(shell: Shell):
    shell.run("reindex")
    state = shell.folder / STATE
    before = len(list(events.read_events(state)))
    shell.write("memory/keys.md", f"- {TOKEN}\n")
    shell.write("outside.md", "# no memory\n")
    shell.git("add", "outside.md")
    assert githooks.main(["pre-commit"]) == 0
    assert len(list(events.read_events(state))) == before
    shell.git("add", "memory/keys.md")
    assert githooks.main(["pre-commit"]) == 1
    *_, last = events.read_events(state)
    assert (last.verb, last.outcome, last.code, last.path) == (
        "pre-commit",
        "refused",
        "secret-found",
        None,
    )
    assert len(list(events.read_events(state))) == before + 1
    assert TOKEN not in (state / events.EVENTS_NAME).read_text()
