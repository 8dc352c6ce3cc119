from replays import LOG, MEMORY, TOPIC, ReplayedMemory, commit_id, fact, memory, message

from mdmem.model import FactId, Op, Source, Status
from mdmem.past.file_changes import fact_chain


def links(replayed: ReplayedMemory, words: str) -> list[tuple[str, int, int | None, Status]]:
    chain = fact_chain(fact(words), replayed.trail)
    return [
        (link.entry.text, link.start.number, link.end.number if link.end else None, link.status)
        for link in chain
    ]


def test_a_chain_is_the_same_from_each_of_its_links(replayed: ReplayedMemory) -> None:
    replayed.write(memory("editor: vim"))
    replayed.write(
        memory("editor: emacs"),
        message(Op.REMEMBER, ("editor: vim", "editor: emacs"), source=Source.AUTO),
    )
    replayed.write(memory("editor: ed"))
    expected = [
        ("editor: vim", 1, 2, Status.SUPERSEDED),
        ("editor: emacs", 2, 3, Status.SUPERSEDED),
        ("editor: ed", 3, None, Status.CURRENT),
    ]
    assert all(
        links(replayed, words) == expected
        for words in ("editor: vim", "editor: emacs", "editor: ed")
    )
    link = fact_chain(fact("editor: ed"), replayed.trail)[1]
    assert (link.id, link.origin.source, link.origin.confidence, link.origin.commit) == (
        fact("editor: emacs"),
        Source.AUTO,
        0.4,
        commit_id(2),
    )
    assert (link.entry.path, link.entry.section) == (MEMORY, ("Memory", "Facts"))
    assert link.start.time == 200


def test_a_moved_fact_is_one_link_and_keeps_its_source(replayed: ReplayedMemory) -> None:
    replayed.write(memory("vim"), message(Op.REMEMBER, source=Source.AUTO))
    replayed.write(memory("vim #tool"))
    replayed.write("# Memory\n\n## Tools\n\n- vim #tool\n")
    replayed.commit({TOPIC: "# Memory\n\n## Tools\n\n- vim #tool\n"}, renamed={TOPIC: MEMORY})
    (link,) = fact_chain(fact("vim"), replayed.trail)
    assert (link.start.number, link.end, link.status) == (1, None, Status.CURRENT)
    assert (link.origin.source, link.origin.confidence) == (Source.AUTO, 0.4)
    assert link.origin.commit == commit_id(2)
    assert (link.entry.path, link.entry.section) == (TOPIC, ("Memory", "Tools"))


def test_a_fact_that_came_back_is_a_link_of_its_own(replayed: ReplayedMemory) -> None:
    for value in ("vim", "emacs", "vim", "emacs"):
        replayed.write(memory(f"editor: {value}"))
    expected = [
        ("editor: vim", 1, 2, Status.SUPERSEDED),
        ("editor: emacs", 2, 3, Status.SUPERSEDED),
        ("editor: vim", 3, 4, Status.SUPERSEDED),
        ("editor: emacs", 4, None, Status.CURRENT),
    ]
    assert links(replayed, "editor: vim") == links(replayed, "editor: emacs") == expected


def test_a_fact_that_was_removed_and_stated_again(replayed: ReplayedMemory) -> None:
    for text in (memory("vim"), memory(), memory("vim")):
        replayed.write(text)
    assert links(replayed, "vim") == [
        ("vim", 1, 2, Status.REMOVED),
        ("vim", 3, None, Status.CURRENT),
    ]


def test_marks_end_a_link_whose_text_stays(replayed: ReplayedMemory) -> None:
    replayed.write("# D\n\n- a\n- b\n", path=LOG)
    replayed.write(
        "# D\n\n- a\n- b\n- c\n", message(Op.LOG, ("a", "c"), path=LOG, retracts=["b"]), LOG
    )
    replayed.write("# D\n\n- c\n", path=LOG)
    assert links(replayed, "c") == [("a", 1, 2, Status.SUPERSEDED), ("c", 2, None, Status.CURRENT)]
    assert links(replayed, "b") == [("b", 1, 2, Status.REMOVED)]


def test_two_facts_marked_as_each_others_successor(replayed: ReplayedMemory) -> None:
    replayed.write(memory("a", "b"), path=LOG)
    replayed.commit({}, message(Op.SUPERSEDE, ("a", "b")))
    replayed.commit({}, message(Op.SUPERSEDE, ("b", "a")))
    assert links(replayed, "a") == [("a", 1, 2, Status.SUPERSEDED), ("b", 1, None, Status.CURRENT)]


def test_equal_facts_in_two_sections_are_two_links(replayed: ReplayedMemory) -> None:
    text = "# M\n\n## A\n\n- {}\n\n## B\n\n- k: 2\n- k: 1\n"
    replayed.write(text.format("k: 1"))
    replayed.write(text.format("k: 2"))
    first, second = replayed.trail.occurrences_of(fact("k: 1"))
    assert [
        link.entry.section[-1] for link in fact_chain(fact("k: 1"), replayed.trail, {second.number})
    ] == ["B"]
    chain = fact_chain(fact("k: 1"), replayed.trail, {first.number})
    assert [(link.entry.text, link.entry.section[-1]) for link in chain] == [
        ("k: 1", "A"),
        ("k: 2", "A"),
    ]
    assert fact_chain(FactId("00000000"), replayed.trail) == ()
