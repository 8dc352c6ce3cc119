"""`init`: where a memory goes; and one for a project, in a repository of its own.

The user's settings name the memory of a project.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath

from mdmem.folder import config, files, layout, own_settings, trust, vault
from mdmem.folder.layout import is_marked
from mdmem.memory import adopting
from mdmem.model.errors import (
    PathProblem,
    RepositoryProblem,
    StorageProblem,
    WorkspaceProblem,
    field,
    printable,
    verb,
)
from mdmem.model.reads import Initialise, InitResult
from mdmem.repo import Repository, discover, discovery, remotes
from mdmem.repo.runner import parse_paths
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.workspace import (
    Progress,
    actor_in_shell,
    adoption,
    existing_folder,
    project_path,
    workspace_of_tree,
    workspaces_meant_by,
)

_ADDRESS = late.pattern(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/\\:]+:(?!\\)")
"""The beginning of what git takes for an address, where no folder has that name."""
_CLONE_SECONDS = 60.0
_GIT_FOLDERS = (".git", ".bare")
"""Names of git's folder that say nothing about a project; the folder around it does."""


_BUILD_FILES = frozenset(
    {
        *("Makefile", "CMakeLists.txt", "meson.build", "configure.ac", "BUILD.bazel"),
        *("pyproject.toml", "setup.py", "requirements.txt", "package.json", "deno.json"),
        *("Cargo.toml", "go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "build.sbt"),
        *("Gemfile", "composer.json", "mix.exs", "Package.swift", "pubspec.yaml", "build.zig"),
        *("stack.yaml", "dune-project", "deps.edn", "project.clj", "Dockerfile", "flake.nix"),
    }
)
_SOURCE_ENDINGS = (
    " py pyi ipynb js mjs cjs jsx ts tsx vue svelte html css scss c h cc cpp cxx hpp m mm cs fs vb"
    " java kt kts scala groovy go rs zig nim d swift dart rb php pl pm lua r jl hs ml mli ex exs"
    " erl clj cljs lisp el scm rkt f90 pas ada asm s sv v sh bash zsh fish ps1 sql proto tf nix"
    " sol cu glsl gd tex "
)


def initialise(
    request: Initialise, environment: Mapping[str, str], progress: Progress | None
) -> InitResult:
    """Make or adopt a workspace, where the request says, or where memory belongs.

    `progress` is of a clone. Raises MdmemError (nothing is left then).
    """
    if request.project is not None:
        return _for_project(request, environment, progress)
    folder = adopting.folder_of(request, environment).resolve()
    if request.here or is_marked(folder):
        return adopting.initialise(request, environment)
    if served := workspace_of_tree(folder, environment):
        return _served_already(folder, served, environment)
    if (home := config.home(environment)) and folder == Path(home).resolve():
        raise PathProblem(
            "bad-path",
            f"{folder} is your home folder",
            f"To create a workspace in a folder of its own: {verb('init')} ~/notes\n"
            f"To make one of your home all the same: {verb('init', 'here')}",
        )
    if code := code_repository(request, environment):
        done = _for_project(replace(request, project=str(folder)), environment, progress)
        return replace(done, notes=(f"{code} is code, so its memory is outside of it", *done.notes))
    return adopting.initialise(request, environment)


def _served_already(folder: Path, served: Path, environment: Mapping[str, str]) -> InitResult:
    repository = discover(served)
    return InitResult(
        workspace=served,
        made_repository=False,
        written=(),
        commit=None,
        hooks=(),
        notes=(
            f"it is the memory of {folder} already, so nothing was changed; to make another one"
            f" there, add {field('here')}",
        ),
        adopted=adoption.is_adopted(repository, environment),
    )


def code_repository(request: Initialise, environment: Mapping[str, str]) -> Path | None:
    """The repository of code that `init` would change, where the request does not say so.

    Raises WorkspaceProblem (`not-allowed`: an agent asks).
    """
    if request.folder or request.project or request.here or environment.get("MDMEM_WORKSPACE"):
        return None
    folder = Path.cwd()
    try:
        repository = discover(folder)
    except RepositoryProblem:
        return None  # `init` makes one, or says why it can't
    if workspace_of_tree(folder, environment) or not _is_code(repository):
        return None
    people = config.own_list("people", environment)
    actor = actor_in_shell((environment.get("MDMEM_ACTOR"),), people, environment)
    if not trust.trust(trust.origin_of_actor(actor, people)).decides:
        raise WorkspaceProblem(
            "not-allowed",
            f"{repository.root} is code, and {actor} is an agent: where its memory goes, a person"
            " decides",
            f"To be typed at a terminal: {verb('init')}",
        )
    return repository.root


def serves_project(workspace: Path, environment: Mapping[str, str]) -> bool:
    """True for the memory of a project: the settings say so, or it lies in its code."""
    named = config.project_workspaces(environment).values()
    if workspace in map(Path.resolve, named):
        return True
    try:
        repository = discover(workspace)
    except RepositoryProblem:
        return False
    return _is_code(repository, most_notes=0)


def _is_code(repository: Repository, most_notes: float = math.inf) -> bool:
    """True if there is more code than notes, of which so many count at most."""
    root = repository.root
    if any((each / vault.FOLDER).is_dir() for each in (root, repository.folder)):
        return False
    if any((root / name).is_file() for name in _BUILD_FILES):
        return True
    paths = list(map(PurePosixPath, parse_paths(repository.at_root().git("ls-files", "-z"))))
    source = sum(f" {path.suffix[1:].lower()} " in _SOURCE_ENDINGS for path in paths)
    return source > min(most_notes, sum(layout.is_markdown(path.name) for path in paths))


def _for_project(
    request: Initialise, environment: Mapping[str, str], progress: Progress | None
) -> InitResult:
    start = existing_folder(request.project or ".")
    adopting.require_own_person(environment, "change your settings")
    if (settings_path := config.user_settings_path(environment)) is None:
        raise StorageProblem("no home is known for your settings", "Set HOME.")
    path = project_path(start)
    project = path.parent if path.name in _GIT_FOLDERS else path
    named = config.project_workspaces(environment)
    # A folder may have been recorded before it was a repository.
    recorded = next(
        (each for meant in (path, project) for each in named if each.resolve() == meant), None
    )
    known = named[recorded] if recorded else None
    table_of = partial(own_settings.table_line, config.BY_PROJECT)
    address = request.folder if request.folder and _is_address(request.folder) else None
    given = None if address or not request.folder else Path(request.folder).resolve()
    folder = known or given or free_folder(path, environment)
    if known and (given not in (None, known.resolve()) or (address and known.exists())):
        raise PathProblem(
            "bad-path",
            f"{known} is already the memory of {recorded}",
            f"To use another: change {table_of(recorded or path)} in {settings_path}",
        )
    for tree in (path, *discovery.work_trees(path)):
        if folder.is_relative_to(tree):
            hint = f"Name a folder elsewhere, or none with {field('outside')}."
            raise PathProblem("bad-path", f"{folder} is in {tree}, the project itself", hint)
    for each in (path, folder):
        if not _is_encodable(str(each)):
            message = f"{printable(str(each))} is not UTF-8, so no settings can name it"
            raise PathProblem("bad-path", message)
    own = replace(request, folder=str(folder), project=None, here=True)
    if request.dry_run:
        plan = _plan_clone(address, folder) if address else adopting.initialise(own, environment)
        line = f"{settings_path} would name it, under {table_of(path)}"
        return replace(plan, project=project, notes=(line, *plan.notes))
    with ExitStack() as undo:
        if address:
            _clone(address, folder, undo, progress)
        if recorded is None or recorded.resolve() != path:
            values = {"workspace": str(folder)}
            if added := own_settings.add_to_table(config.BY_PROJECT, path, values, environment):
                undo.callback(added.take_back)
        done = adopting.initialise(own, environment)
        undo.pop_all()
    notes = [f"recorded in {settings_path}, under {table_of(path)}"]
    first = next(workspaces_meant_by((start,), environment))
    if first.resolve() != done.workspace.resolve():
        notes.append(f"{first} has its own memory, which is used first")
    return replace(done, project=project, notes=(*done.notes, *notes))


def _is_encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_address(text: str) -> bool:
    return bool(_ADDRESS.match(text)) and not Path(text).exists()


def free_folder(project: Path, environment: Mapping[str, str]) -> Path:
    """The folder for a project's new memory. Raises StorageProblem (no home)."""
    base = config.user_data_folder(environment)
    if base is None:
        raise StorageProblem("no home is known for new memories", "Set HOME, or name a folder.")
    named = project.parent if project.name in _GIT_FOLDERS else project
    name = named.name.removesuffix(".git") or config.BY_PROJECT
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(base / each for each in names if not os.path.lexists(base / each)).absolute()


def _clone(address: str, folder: Path, undo: ExitStack, progress: Progress | None) -> None:
    """Clone a workspace, or a repository without commits, into a new folder."""
    if os.path.lexists(folder):
        raise PathProblem("bad-path", f"{folder} exists", "Name it instead of an address.")
    files.make_folders(folder.parent)
    new = folder.with_name(files.temporary_name())
    undo.callback(shutil.rmtree, new, ignore_errors=True)
    remotes.clone(address, new, _CLONE_SECONDS, progress)
    if discover(new).head() is not None and not is_marked(new):
        raise WorkspaceProblem(
            "no-workspace",
            "the repository holds no MEMORY.md and no mdmem.toml",
            "Clone it yourself, and name the workspace's folder in the clone.",
        )
    new.rename(folder)
    undo.callback(shutil.rmtree, folder, ignore_errors=True)


def _plan_clone(address: str, folder: Path) -> InitResult:
    return InitResult(
        workspace=folder,
        made_repository=False,
        written=(),
        commit=None,
        hooks=(),
        notes=(f"{address} would be cloned", "a dry run: nothing was written"),
        planned=True,
    )
