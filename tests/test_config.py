import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import World

from mdmem.folder import trust
from mdmem.folder.config import (
    Settings,
    load,
    load_usable,
    must_propose,
    now,
    user_settings_path,
    zone,
)
from mdmem.model.errors import UsageProblem, WorkspaceProblem, plain


@pytest.fixture
def folder(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def own(world: World, text: str) -> None:
    settings_folder = world.home / ".config" / "mdmem"
    settings_folder.mkdir(parents=True, exist_ok=True)
    (settings_folder / "config.toml").write_text(text)


def test_defaults(folder: Path) -> None:
    settings = load(folder, None, os.environ)
    assert settings == Settings()
    assert (
        settings.direct_edits,
        settings.allow_detached,
        settings.lock_timeout,
        settings.hook_timeout,
    ) == ("commit", False, 30, 30)
    assert (
        settings.half_life_days,
        settings.budget_lines,
        settings.budget_bytes,
        settings.log_queries,
    ) == (None, 200, 25_000, False)


def test_the_workspace_goes_over_the_user(world: World, folder: Path) -> None:
    own(world, 'actor = "user"\npeople = ["a", "b"]\nlock_timeout = 1\n')
    (folder / "mdmem.toml").write_text(
        'actor = "here"\nlog_queries = true\nbudget_lines = 10\nhalf_life_days = 7.5\n'
    )
    expected = Settings(
        actor="here",
        people=("a", "b"),
        lock_timeout=1.0,
        log_queries=True,
        budget_lines=10,
        half_life_days=7.5,
    )
    assert load(folder, None, os.environ) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("timezon = 'UTC'", "Did you mean timezone?"),
        ("zzz = 1", "To see all: help settings"),
        ("# timezon\n\ntimezon = 'UTC'", "mdmem.toml:3: unknown setting 'timezon'"),
        ("budget_lines = 3\n[[ 'budgt_lines' ]]", "mdmem.toml:2: unknown setting"),
        ("a.b = 3", "mdmem.toml:1: unknown setting 'a'"),
        ("timezone = 'Nowhere/None'", "Europe/Berlin"),
        ("timezone = '../etc'", "Europe/Berlin"),
        ("timezone = 3", "a one-line text"),
        (f"author = '{'a' * 1001}'", "at most 1,000 characters long"),
        (f"paths = ['a.md', '{'a' * 1001}']", "at most 1,000 characters long"),
        (f"lock_timeout = 0x{'f' * 6000}", "a very large number"),
        (f"lock_timeout = {'9' * 6000}", "mdmem.toml"),
        (f"lock_timeout = {'[' * 30_000}", "mdmem.toml"),
        (f"{'a.' * 30_000}b = 1", "a line with more than 1,000 dots"),
        (f"{' ' * 30_000}unknown = 1", "unknown setting"),
        ("language = 'germna'", "Did you mean german?"),
        ("language = 'klingon'", "There are arabic, danish, dutch"),
        ("author = ''", "a one-line text"),
        ('author = "a\\nb"', "a one-line text"),
        ("direct_edits = 'perhaps'", "commit or refuse"),
        ("allow_detached = 1", "true or false"),
        ("lock_timeout = true", "a number above 0"),
        ("lock_timeout = 1e9", "below 1,000,000,000"),
        ("budget_lines = 0.5", "a whole number from 1"),
        ("budget_bytes = 0", "a whole number from 1"),
        ("lock_timeout = 0", "a number above 0"),
        ("lock_timeout = -1", "a number above 0"),
        ("lock_timeout = nan", "a number above 0"),
        ("lock_timeout = inf", "a number above 0"),
        ("lock_timeout = '3'", "a number above 0"),
        ("extra_paths = 'a'", "a list of texts"),
        ("extra_paths = [1]", "a list of texts"),
        ("extra_paths = ['']", "a list of texts"),
        ("extra_paths = ['../x']", "outside the work tree"),
        ("extra_paths = ['/x']", "outside the work tree"),
        ("extra_paths = ['~/x']", "outside the work tree"),
        ("agents_propose = 'yes'", "true or false"),
        ("a = ", "Correct the file"),
        ("[extra_paths]\nx = 1", "a list of texts"),
    ],
)
def test_settings_that_are_refused(folder: Path, text: str, words: str) -> None:
    (folder / "mdmem.toml").write_text(text)
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert caught.value.code == "bad-settings"
    assert words in plain(f"{caught.value.message}: {caught.value.hint}")


def test_settings_as_far_as_they_can_be_used(world: World, folder: Path) -> None:
    own(world, f'timezne = "UTC"\nauthor = "A <a@b.c>"\n[in."{folder}"]\nlangage = "de"\n')
    (folder / "mdmem.toml").write_text("budget_lines = 10\n\nbudgt_bytes = 7\n")
    settings, problems = load_usable(folder, None, os.environ)
    assert settings == Settings(author="A <a@b.c>", budget_lines=10)
    assert [problem.message for problem in problems] == [
        "config.toml:1: unknown setting 'timezne'",
        "config.toml:4: unknown setting 'langage'",
        "mdmem.toml:3: unknown setting 'budgt_bytes'",
    ]
    (folder / "mdmem.toml").write_text("budget_lines = 10\nbudgt_bytes = 7\nlock_timeout = 0\n")
    settings, problems = load_usable(folder, None, os.environ)
    assert settings == Settings()
    assert "lock_timeout must be" in problems[-1].message
    assert len(problems) == 4


@pytest.mark.parametrize(
    ("value", "language"),
    [
        ("de", "german"),
        ("German", "german"),
        (" PT_br ", "portuguese"),
        ("de-AT", "german"),
        ("nb", "norwegian"),
        ("en", "english"),
    ],
)
def test_a_language_has_one_name(folder: Path, value: str, language: str) -> None:
    (folder / "mdmem.toml").write_text(f"language = '{value}'\n")
    assert load(folder, None, os.environ).language == language


def test_settings_for_one_workspace_go_over_the_users_others(world: World, folder: Path) -> None:
    link = world.home / "link"
    link.symlink_to(folder)
    own(
        world,
        'people = ["ada"]\nactor = "user"\ntimezone = "UTC"\n[in."~/link"]\nactor = "here"\npeople = ["bo"]\nextra_paths = ["/x"]\n'
        f'[in."{folder.parent}"]\nactor = "elsewhere"\n',
    )
    (folder / "mdmem.toml").write_text('timezone = "Europe/Oslo"\nextra_paths = ["/x"]\n')
    settings = load(folder, None, os.environ)
    assert settings == Settings(
        people=("bo",), actor="here", timezone="Europe/Oslo", extra_paths=("/x",)
    )
    assert load(world.home, None, os.environ) == Settings(
        people=("ada",), actor="user", timezone="UTC"
    )


@pytest.mark.parametrize(
    "text", ["in = 3", "in = {x = 3}", '[in."/x"]\nactro = "a"', '[in."~x"]\nactor = "a"']
)
def test_tables_for_workspaces_that_are_refused(world: World, folder: Path, text: str) -> None:
    own(world, text)
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert caught.value.code == "bad-settings"


HERE = '[in."{folder}"]'


@pytest.mark.parametrize(
    ("text", "workspace", "names"),
    [
        ("", "", ""),
        ('write = "apply"', "", ""),
        ('write = "propose"', "", "mcp/a b agent/c"),
        ("", "agents_propose = true", "mcp/a b agent/c"),
        ('write = "apply"\n[actor.a]\nwrite = "apply"', "agents_propose = true", "mcp/a b agent/c"),
        ('[actor."a"]\nwrite = "propose"', "", "mcp/a"),
        ('[actor."MCP/A "]\nwrite = "propose"', "", "mcp/a"),
        ('[actor.mcp]\nwrite = "propose"', "", ""),
        ('[actor.b]\nwrite = "propose"\n[actor.c]\nwrite = "propose"', "", "b agent/c"),
        ('write = "propose"\n[actor.a]\nwrite = "apply"', "", "mcp/a b agent/c"),
        ('write = "apply"\n[actor."*"]\nwrite = "propose"', "", "mcp/a b agent/c"),
        (f'write = "propose"\n{HERE}\nwrite = "apply"', "agents_propose = false", ""),
        (f'{HERE}\nwrite = "propose"', "", "mcp/a b agent/c"),
        ('[in."/elsewhere"]\nwrite = "propose"', "", ""),
        (f'{HERE}\nactor = "x"\n[actor.a]\nwrite = "propose"', "", "mcp/a"),
        (
            '[actor.a]\nwrite = "propose"\n[actor.b]\nwrite = "propose"\n'
            '[in."{folder}".actor.a]\nwrite = "apply"',
            "",
            "b",
        ),
    ],
)
def test_whose_writes_become_proposals(
    world: World, folder: Path, text: str, workspace: str, names: str
) -> None:
    own(world, text.replace("{folder}", str(folder)))
    (folder / "mdmem.toml").write_text(workspace)
    settings = load(folder, None, os.environ)
    actors = ("mcp/a", "b", "agent/c")
    assert [name for name in actors if must_propose(settings, [name, None])] == names.split()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ('write = "perhaps"', "bad-settings", "apply or propose"),
        ("write = true", "bad-settings", "a one-line text"),
        ('[actor.a]\nwrite = "no"', "bad-settings", "apply or propose"),
        ('[actor.a]\nwirte = "propose"', "bad-settings", '[actor."claude-code"]'),
        ("[actor.a]", "bad-settings", "write alone"),
        ('[actor]\na = "propose"', "bad-settings", "write alone"),
        ('[actor." "]\nwrite = "propose"', "bad-settings", "write alone"),
        ("agents_propose = true", "not-here", 'write = "propose"'),
        ('[in."/x"]\nagents_propose = true', "not-here", 'write = "propose"'),
    ],
)
def test_words_on_who_writes_that_are_refused(
    world: World, folder: Path, text: str, code: str, words: str
) -> None:
    own(world, text)
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert caught.value.code == code
    assert words in caught.value.message + caught.value.hint


def test_a_workspace_names_no_agent_that_proposes(folder: Path) -> None:
    (folder / "mdmem.toml").write_text('[actor.a]\nwrite = "propose"\n')
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert caught.value.code == "not-here"
    assert "[actor]" in caught.value.message


IN_WORKSPACES = trust.trust(trust.TextOrigin.WORKSPACE_SETTINGS).settings
OF_THE_USER = sorted(set(Settings.__match_args__) - IN_WORKSPACES)


@pytest.mark.parametrize("name", [*OF_THE_USER, "in"])
def test_what_only_the_users_own_settings_may_hold(folder: Path, name: str) -> None:
    """The words of the file are in no message: agents read those, and a stranger may have written
    it.
    """
    (folder / "mdmem.toml").write_text(f"{name} = 'run curl'\n")
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert caught.value.code == "not-here"
    assert "config.toml" in caught.value.hint
    assert "curl" not in f"{caught.value.message}{caught.value.hint}"


def test_every_other_setting_may_be_the_workspaces() -> None:
    assert set(Settings.__match_args__) > IN_WORKSPACES
    assert {"flush_prompt", "flush_system", "people", "model_command"} <= set(OF_THE_USER)


def test_every_default_may_be_written(world: World, folder: Path) -> None:
    defaults = {
        name: value for name in OF_THE_USER if (value := getattr(Settings(), name)) is not None
    } | {"write": "apply"}
    assert defaults["server"] == "on"
    own(world, "".join(f"{name} = {_toml(value)}\n" for name, value in defaults.items()))
    assert load(folder, None, os.environ) == Settings()
    own(world, 'server = "off"\n')
    assert load(folder, None, os.environ).server == "off"
    own(world, 'server = "no"\n')
    with pytest.raises(WorkspaceProblem, match="on or off"):
        load(folder, None, os.environ)


def _toml(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def test_prompts_are_the_users_own(world: World, folder: Path) -> None:
    own(world, 'flush_prompt = "Write."\n')
    assert load(folder, None, os.environ).flush_prompt == "Write."


@pytest.mark.parametrize(
    ("people", "is_refused"),
    [('["ada", "bo"]', True), ('["bo"]', False), ("[]", False)],
)
def test_a_workspace_makes_nobody_one_of_the_users_people(
    world: World, folder: Path, people: str, is_refused: bool
) -> None:
    own(world, f"people = {people}\n")
    (folder / "mdmem.toml").write_text("actor = ' ADA'\n")
    if is_refused:
        with pytest.raises(WorkspaceProblem) as caught:
            load(folder, None, os.environ)
        assert caught.value.code == "not-here"
    else:
        assert load(folder, None, os.environ).actor == " ADA"


def test_little_of_a_value_is_in_a_message(folder: Path) -> None:
    (folder / "mdmem.toml").write_text(f"daily = '{'word ' * 1000}'\n")
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("data", [b"\xff", b"a = 1\0"])
def test_files_that_are_no_toml(folder: Path, data: bytes) -> None:
    (folder / "mdmem.toml").write_bytes(data)
    with pytest.raises(WorkspaceProblem):
        load(folder, None, os.environ)


def plant(path: Path, kind: str) -> None:
    """Put what is no plain file of a fair size in the place of a file of settings."""
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "link to nothing":
            path.symlink_to("gone")
        case "link":
            path.with_name("plain.toml").write_text("")
            path.symlink_to("plain.toml")
        case "large":
            path.write_text("#" * 65_537)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "link to nothing", "link", "large"])
def test_what_is_no_plain_file_of_a_fair_size(folder: Path, kind: str) -> None:
    """It is refused at once: nothing of it is opened."""
    plant(folder / "mdmem.toml", kind)
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert caught.value.code == "bad-settings"
    assert str(folder / "mdmem.toml") in caught.value.hint


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "large"])
def test_the_users_own_settings_are_such_a_file_too(world: World, folder: Path, kind: str) -> None:
    own_folder = world.home / ".config" / "mdmem"
    own_folder.mkdir(parents=True)
    plant(own_folder / "config.toml", kind)
    with pytest.raises(WorkspaceProblem) as caught:
        load(folder, None, os.environ)
    assert caught.value.code == "bad-settings"


def test_the_users_own_settings_may_be_a_link(world: World, folder: Path) -> None:
    own_folder = world.home / ".config" / "mdmem"
    own_folder.mkdir(parents=True)
    (world.home / "dotfiles.toml").write_text("budget_lines = 3\n")
    (own_folder / "config.toml").symlink_to(world.home / "dotfiles.toml")
    assert load(folder, None, os.environ).budget_lines == 3


def test_a_file_of_the_largest_size(folder: Path) -> None:
    text = "budget_lines = 3\n"
    (folder / "mdmem.toml").write_text(text + "#" * (65_536 - len(text)))
    assert load(folder, None, os.environ).budget_lines == 3


def test_a_file_that_turns_into_a_pipe_while_it_is_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "mdmem.toml"
    path.write_text("")
    opened = os.open

    def swapped(*arguments: Any) -> int:
        path.unlink()
        os.mkfifo(path)
        return opened(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", swapped)
        with pytest.raises(WorkspaceProblem, match="not a plain file"):
            load(folder, None, os.environ)


def test_paths_outside_need_the_users_own_settings(world: World, folder: Path) -> None:
    own(world, 'extra_paths = ["/notes"]\n')
    assert load(folder, None, os.environ).extra_paths == ("/notes",)
    (folder / "mdmem.toml").write_text('extra_paths = ["docs", "/notes"]\n')
    assert load(folder, None, os.environ).extra_paths == ("docs", "/notes")
    (folder / "mdmem.toml").write_text('extra_paths = ["/other"]\n')
    with pytest.raises(WorkspaceProblem, match="outside the work tree"):
        load(folder, None, os.environ)


def test_paths_in_the_work_tree_may_be_named_by_the_workspace(folder: Path, tmp_path: Path) -> None:
    (folder / "mdmem.toml").write_text('extra_paths = ["../docs", "../docs/notes.md"]\n')
    assert load(folder, tmp_path, os.environ).extra_paths == ("../docs", "../docs/notes.md")
    (tmp_path / "docs").symlink_to(tmp_path.parent)
    with pytest.raises(WorkspaceProblem, match="outside the work tree"):
        load(folder, tmp_path, os.environ)


@pytest.mark.parametrize(
    ("user", "local"),
    [("{tmp}/docs", "../docs"), ("../docs", "{tmp}/docs"), ("~/notes", "../home/notes")],
)
def test_the_users_own_settings_count_in_another_spelling(
    world: World, folder: Path, tmp_path: Path, user: str, local: str
) -> None:
    own(world, f"extra_paths = ['{user.format(tmp=tmp_path)}']\n")
    named = local.format(tmp=tmp_path)
    (folder / "mdmem.toml").write_text(
        f"extra_paths = ['{named}', '{user.format(tmp=tmp_path)}']\n"
    )
    assert load(folder, None, os.environ).extra_paths == (named,)


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        *(
            ("notes", "notes"),
            ("./notes", "notes"),
            ("notes/", "notes"),
            ("a//b", "a/b"),
            ("a/./b", "a/b"),
            ("a/../b", "b"),
        ),
        *(
            (".", "."),
            ("./", "."),
            ("notes/x.md", "notes/x.md"),
            ("../workspace/notes", "notes"),
            ("x~", "x~"),
        ),
    ],
)
def test_an_extra_path_has_one_spelling(folder: Path, path: str, spelled: str) -> None:
    (folder / "mdmem.toml").write_text(f"extra_paths = ['{path}', '{spelled}']\n")
    assert load(folder, None, os.environ).extra_paths == (spelled,)


def test_paths_outside_have_one_spelling_too(world: World, folder: Path) -> None:
    own(world, f"extra_paths = ['~/notes/', '../beside', '//srv/x', '~', '{folder}/inside']\n")
    expected = (f"{world.home}/notes", "../beside", "/srv/x", str(world.home), "inside")
    assert load(folder, None, os.environ).extra_paths == expected
    (folder / "mdmem.toml").write_text(
        f"extra_paths = ['{world.home}/notes', '~/notes', '../x/../beside']\n"
    )
    assert load(folder, None, os.environ).extra_paths == (f"{world.home}/notes", "../beside")


@pytest.mark.parametrize(("path", "environment"), [("~bob/notes", {"HOME": "/h"}), ("~/notes", {})])
def test_an_unknown_home(folder: Path, path: str, environment: dict[str, str]) -> None:
    (folder / "mdmem.toml").write_text(f"extra_paths = ['{path}']\n")
    with pytest.raises(WorkspaceProblem, match="whose location is unknown") as caught:
        load(folder, None, environment)
    assert caught.value.code == "bad-settings"


@pytest.mark.parametrize(
    ("platform", "environment", "path"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config/mdmem/config.toml"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/mdmem/config.toml"),
        ("linux", {}, None),
        (
            "darwin",
            {"HOME": "/h", "XDG_CONFIG_HOME": "/x"},
            "/h/Library/Application Support/mdmem/config.toml",
        ),
        ("win32", {"APPDATA": "/a"}, "/a/mdmem/config.toml"),
        ("win32", {"HOME": "/h"}, None),
    ],
)
def test_where_the_users_own_settings_are(
    platform: str, environment: dict[str, str], path: str | None
) -> None:
    assert user_settings_path(environment, platform) == (Path(path) if path else None)


@pytest.mark.parametrize(
    ("value", "zone_name", "written"),
    [
        ("2026-03-05T10:00:00", "Europe/Berlin", "2026-03-05T10:00:00+01:00"),
        ("2026-03-05T23:30:00Z", "Europe/Berlin", "2026-03-06T00:30:00+01:00"),
        ("2026-07-05T10:00:00+00:00", "Asia/Tokyo", "2026-07-05T19:00:00+09:00"),
        ("2026-03-05", None, "2026-03-05T00:00:00+00:00"),
        ("2026-03-05T10:00:00+05:00", None, "2026-03-05T05:00:00+00:00"),
    ],
)
def test_the_time_that_is_written(
    world: World, value: str, zone_name: str | None, written: str
) -> None:
    assert now(Settings(timezone=zone_name), {"MDMEM_NOW": value}).isoformat() == written


@pytest.mark.parametrize("value", ["tomorrow", "2026-13-01", "25:00", "0001-01-01T00:00:00+14:00"])
def test_times_that_are_refused(world: World, value: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        now(Settings(timezone="America/Los_Angeles"), {"MDMEM_NOW": value})
    assert caught.value.exit_status == 2


def test_without_a_value_it_is_the_real_time(world: World) -> None:
    before = datetime.now(UTC)
    time = now(Settings(timezone="Asia/Tokyo"), {})
    assert before <= time <= datetime.now(UTC)
    assert time.utcoffset() == timedelta(hours=9)
    assert zone(None) is None
