import itertools

from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from replays import MEMORY, TOPIC, ReplayedMemory, memory

from mdmem.model import CommitId, FilePath
from mdmem.model.trail import Revision
from mdmem.past.differences import TextPresence, blame_lines, text_presences


def revision(number: int, text: str, *previous: int) -> Revision:
    before = previous or ((number - 1,) if number > 1 else ())
    return Revision(1, number, MEMORY, ("A",), 1, text, number=number, previous=before)


def order(number: int) -> tuple[int, CommitId]:
    return number, CommitId("")


def test_each_line_has_the_commit_that_brought_it_in() -> None:
    texts = ["# A\n\n- a\n- b", "# A\r\n\r\n- b\r\n- c\r\n- a", "# A\n\n- b\n- c\n- b\n- a\n- d"]
    revisions = [revision(number, text) for number, text in enumerate(texts, 1)]
    blame = blame_lines(revisions, order)
    assert [(line.line, line.text, line.commit) for line in blame] == [
        (1, "# A", 1),
        (2, "", 1),
        (3, "- b", 1),
        (4, "- c", 2),
        (5, "- b", 3),
        (6, "- a", 1),
        (7, "- d", 3),
    ]
    assert [
        line.commit for line in blame_lines(revisions, order, texts[2] + "\n- mine\n\n \n")
    ] == [1, 1, 1, 2, 3, 1, 3, None]
    assert blame_lines((), order) == ()


def test_a_merge_has_the_lines_of_both_sides() -> None:
    seed, ours, theirs = (
        revision(1, "# A\n\n- a"),
        revision(2, "# A\n\n- a\n- b\n- both"),
        revision(3, "# A\n\n- both\n- a\n- c", 1),
    )
    merge = revision(4, "# A\n\n- both\n- a\n- b\n- c\n- own", 3, 2)
    blame = blame_lines([seed, ours, theirs, merge], order)
    assert [(line.text, line.commit) for line in blame[2:]] == [
        ("- both", 2),
        ("- a", 1),
        ("- b", 2),
        ("- c", 3),
        ("- own", 4),
    ]


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=8), min_size=1, max_size=6))
@examples(200)
def test_every_text_since_its_commit_contains_a_line(texts: list[list[str]]) -> None:
    blame = blame_lines(
        [revision(number, "\n".join(["#", *lines, "."])) for number, lines in enumerate(texts, 1)],
        order,
    )
    assert [line.text for line in blame] == ["#", *texts[-1], "."]
    for line in blame:
        assert line.commit is not None
        assert all(line.text in ["#", *lines, "."] for lines in texts[line.commit - 1 :])


def test_a_presence_lasts_under_other_names_and_next_to_other_texts(
    replayed: ReplayedMemory,
) -> None:
    replayed.write("# M\n\n## A\n\n- tea\n")
    replayed.write("# M\n\n## A\n\n- tea\n- milk\n")
    replayed.write("# M\n\n## B\n\n- tea\n- milk\n")
    replayed.commit({TOPIC: "# M\n\n## B\n\n- tea\n- milk\n"}, renamed={TOPIC: MEMORY})
    replayed.write("# M\n\n## B\n\n- milk\n", path=TOPIC)
    replayed.write("# M\n\n## B\n\n- milk\n- green tea\n", path=TOPIC)
    replayed.write("# X\n\n- tea\n", path=FilePath("memory/x.md"))
    assert text_presences(replayed.trail, "tea") == (
        TextPresence(1, 5, TOPIC, ("M", "B")),
        TextPresence(6, None, TOPIC, ("M", "B")),
        TextPresence(7, None, FilePath("memory/x.md"), ("X",)),
    )
    assert text_presences(replayed.trail, "coffee") == ()


@given(
    st.lists(
        st.lists(st.sampled_from(["tea", "milk", "bread"]), max_size=3), min_size=1, max_size=8
    )
)
@examples(60)
def test_presences_cover_the_commits_that_have_the_text(contents: list[list[str]]) -> None:
    with ReplayedMemory() as replayed:
        for items in contents:
            replayed.write(memory(*items))
        presences = text_presences(replayed.trail, "tea")
        for number, items in enumerate(contents, 1):
            assert any(
                presence.came <= number and (presence.went is None or presence.went > number)
                for presence in presences
            ) is ("tea" in items)
        assert all(
            earlier.went is not None and earlier.went < later.came
            for earlier, later in itertools.pairwise(presences)
        )


@given(st.lists(st.text("ab\né", max_size=6), min_size=1, max_size=6))
@examples(60)
def test_each_part_of_each_text_is_found_however_it_is_stored(texts: list[str]) -> None:
    with ReplayedMemory() as replayed:
        for text in texts:
            replayed.write(f"# M\n\n## A\n\nx{text}y\n")
        wholes = [revision.text for revision in replayed.trail.revisions_containing("")]
        for whole in wholes:
            parts = {
                whole[start:end]
                for start in range(len(whole))
                for end in range(start + 1, start + 6)
            }
            for part in parts:
                found = replayed.trail.revisions_containing(part)
                assert [each.text for each in found] == [each for each in wholes if part in each]
