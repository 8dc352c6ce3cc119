"""Modules that are loaded and patterns that are compiled when they are first used, and the one table that says which modules.

Most commands need a small part of the program, and some packages take longer to load than a whole command takes to run. A module that the
table names is bound at the top of its user as an import would bind it; type checkers and import-linter see the import itself:

    if TYPE_CHECKING:
        import mistune
    else:
        mistune = late.module("mistune")
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING or sys.version_info >= (3, 11, 5):
    compiled = re.compile
else:
    from mdmem.startup.possessive import compiled

MODULES = frozenset(
    {
        # Packages that take long to load (ms of a cold start, Python's own library apart).
        "dateparser.date",  # 130: only for days in words
        "inotify_simple",  # 5: only in a process that stays
        "frontmatter",  # 40, with the parser of YAML
        "yaml",
        "markdown_it",  # 45: only for Markdown that the scanner hands over
        "mistune",  # 12: only for text on a terminal
        # Of Python's own library, what an everyday command does not need: 1 to 3 each.
        "difflib",
        "html",
        "shlex",  # only for hints
        "shutil",
        "threading",  # only where progress is shown
        "tomllib",  # only where there are settings
        "traceback",  # only for a bug
        "zoneinfo",  # only where a time zone is set
        # Rooms of one verb, or of few: together some 40 ms.
        "mdmem.adoption",  # only for what agents are served by
        "mdmem.agenthooks",
        "mdmem.cli",  # so that an interruption while it is loaded is heard
        "mdmem.cli.app",  # with Typer: 150
        "mdmem.cli.adoptions",
        "mdmem.cli.editor",
        "mdmem.cli.proposed_writes",
        "mdmem.cli.terminal",
        "mdmem.digest.citations",
        "mdmem.digest.digesting",
        "mdmem.digest.purging",
        "mdmem.digest.overview",
        "mdmem.dream.dreaming",
        "mdmem.dream.due",
        "mdmem.memory.running",
        "mdmem.steps.run_log",
        "mdmem.digest.session_views",
        "mdmem.digest.model_step",  # only where a model is set
        "mdmem.dream.model_step",  # likewise
        "mdmem.digest.news",
        "mdmem.digest.rebuilding",
        "mdmem.digest.sources",
        "mdmem.digest.writing",
        "mdmem.digest.starting",
        "mdmem.doctor",
        "mdmem.extras",  # only where a package is missing
        "mdmem.changes.fact_places",
        "mdmem.fact_names",
        "mdmem.editors.corrections",  # only where the index has seen all
        "mdmem.editors.instructions",  # only for `init`
        "mdmem.editors.item_labels",
        "mdmem.editors.key_values",
        "mdmem.editors.likeness",
        "mdmem.editors.merge3.inverse_patch",
        "mdmem.hookfiles",
        "mdmem.llm.endpoints",
        "mdmem.llm.server",  # with the package: 600
        "mdmem.lock_queue",
        "mdmem.packaged_files",
        "mdmem.mergedriver",
        "mdmem.editors.merge3.merging",
        "mdmem.mcp.arguments",
        "mdmem.mcp.door",  # with all of memory: when a client was answered first
        "mdmem.mcp.server",  # with the SDK, 600
        "mdmem.mcp.serving",
        "mdmem.memtool.sdk",  # 900
        "mdmem.memtool.serving",
        "mdmem.memory.adopting",
        "mdmem.catchup.background",
        "mdmem.catchup.boundary",
        "mdmem.catchup.merge_replay",  # only where a merge is replayed
        "mdmem.merges",
        "mdmem.catchup.unindexed",
        "mdmem.memory.claims",  # only for an agent's own commit
        "mdmem.memory.contexts",
        "mdmem.memory.figures",
        "mdmem.memory.flushing",
        "mdmem.memory.found",
        "mdmem.model.actors",  # only where an actor is named
        "mdmem.catchup.index",
        "mdmem.catchup.session_messages",
        "mdmem.memory.guards",
        "mdmem.memory.hooks",
        "mdmem.memory.merge_trailers",  # only for a merge
        "mdmem.memory.pipelines",
        "mdmem.memory.proposals",
        "mdmem.memory.tasks",
        "mdmem.changes.accepting",
        "mdmem.changes.contradict",
        "mdmem.changes.digest_day",
        "mdmem.changes.foundations",
        "mdmem.queries.dates",
        "mdmem.queries.suggestions",
        "mdmem.catchup.changed_files",
        "mdmem.catchup.page_worker",  # only where an index is built from nothing
        "mdmem.given.guard",
        "mdmem.history.notes",
        "mdmem.history.purged",  # only where messages are read
        "mdmem.queries.blame",
        "mdmem.queries.likes",
        "mdmem.queries.restated",
        "mdmem.queries.history",
        "mdmem.model.fact_changes",
        "mdmem.queries.fact_changes",
        "mdmem.queries.lookup",
        "mdmem.show.fact_changes",
        "mdmem.queries.show",
        "mdmem.queries.show_past",
        "mdmem.queries.status_notes",
        "mdmem.catchup.replay",
        "mdmem.changes.revert",
        "mdmem.changes.revert_run",
        "mdmem.changes.review",
        "mdmem.model.searches",
        "mdmem.queries.labels",
        "mdmem.queries.search",
        "mdmem.queries.session_search",  # with the index of messages
        "mdmem.catchup.entry_states",  # with SQLite
        "mdmem.changes.task_notes",
        "mdmem.queries.as_of",
        "mdmem.queries.other_markdown",
        "mdmem.queries.past_questions",
        "mdmem.queries.versions",
        "mdmem.catchup.trail_update",  # with SQLite
        "mdmem.changes.apply",
        "mdmem.changes.repeats",  # only where a write has failed
        "mdmem.changes.moved_paths",  # only where a process was killed in the middle of a move
        "mdmem.changes.whole_files",
        "mdmem.editors.whole_file",
        "mdmem.queries.folders",
        "mdmem.changes.superseding",  # only for writes that name what they supersede
        "mdmem.changes.pending",
        "mdmem.changes.pulled_lines",  # only where edits are pending
        "mdmem.changes.user_hooks",
        "mdmem.repo.authors",
        "mdmem.repo.incoming",
        "mdmem.repo.index_bits",
        "mdmem.repo.ignored",
        "mdmem.repo.locks",
        "mdmem.repo.mixed_commits",
        "mdmem.repo.staged_changes",
        "mdmem.schedule.placing",
        "mdmem.search.explanation",
        "mdmem.search.gate",
        "mdmem.search.schema",
        "mdmem.secrets",  # a hundred regular expressions
        "mdmem.search.tags",
        "mdmem.search.term_statistics",  # not for an index that was just built
        "mdmem.show.figures",
        "mdmem.show.hits",
        "mdmem.show.maintenance",
        "mdmem.show.proposals",
        "mdmem.proposals.branch_changes",
        "mdmem.proposals.branches",
        "mdmem.stats",
        "mdmem.trail",  # with SQLite
        "mdmem.trust",  # only where an actor, an origin or a workspace's settings count
    }
)


def module(name: str) -> Any:
    """A stand-in for the module called `name`, which is loaded when an attribute of it is first asked for.

    Raises:
        ValueError: the table does not name it.
    """
    if name not in MODULES:
        raise ValueError(f"the table of late modules does not name {name}")
    return _LateModule(name)


class _LateModule:
    """A module that may not be loaded yet. It keeps nothing of the module, so that what is replaced there is seen here too."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        __import__(self._name)
        return getattr(sys.modules[self._name], attribute)


def pattern(text: AnyStr) -> re.Pattern[AnyStr]:
    """A stand-in for `compiled(text)`, compiled when it is first used.

    A command uses half of the hundred patterns at the top of its modules; compiling the others takes 2 to 7 ms of a cold start.
    """
    return cast("re.Pattern[AnyStr]", _LatePattern(text))


class _LatePattern:
    """A pattern that may not be compiled yet. It keeps each method that was used, so that only the first call of each looks further."""

    def __init__(self, text: str | bytes) -> None:
        self.pattern = text

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(compiled(self.pattern), attribute)
        setattr(self, attribute, value)
        return value
