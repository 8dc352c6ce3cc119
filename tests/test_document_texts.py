"""Documents as JSON texts: they say what the documents of Python's values say, whatever an entry
holds.
"""

import base64
import json

from hypothesis import example, given
from hypothesis import strategies as st

from mdmem.model import CommitId, FileKind, FilePath, SectionPath, Source
from mdmem.model.trail import Entry, Origin
from mdmem.search import labels, schema
from mdmem.search.schema import IndexRow, Lifetime, document_text, lifetime_text

ORIGIN = Origin(
    commit=CommitId("a" * 40),
    time=1_767_225_600,
    source=Source.INFERRED,
    confidence=0.7,
    author="Ada \\ <ada@example.org>",
    actor='agent/"a b"',
    session="claude/\ud800",
)
PATH = FilePath('memory/a "b"\\c.md')


def row(text: str, title: str, tag: str) -> IndexRow:
    entry = Entry(
        path=PATH,
        start_line=3,
        end_line=3,
        section=SectionPath((title, title)),
        day=None,
        text=text,
        kind=None,
        key=None,
        tags=(tag,),
        until=None,
        fact=None,
        first_line=f"- {text}",
    )
    return IndexRow(
        entry=entry,
        origin=ORIGIN,
        uncommitted=False,
        kind=FileKind.EVERGREEN,
        lifetime=Lifetime(begun=7),
        about=title,
    )


@given(
    st.lists(st.tuples(st.text(), st.text(), st.text(max_size=3)), min_size=1, max_size=4),
    st.sampled_from(["english", "german", "russian"]),
)
@example(
    [('say "no" \\ or\x00 東京"駅\\\ud800?', 'a "b" \\ 東京', '"#\\'), ('كيف? ก"ข', "\x1f", "ß")],
    "english",
)
def test_a_text_says_what_the_fields_say(texts: list[tuple[str, str, str]], language: str):
    rows = [row(*each) for each in texts]
    owner = labels.file_label(PATH)
    life = Lifetime(begun=7)
    lifetime = schema.lifetime_fields(ORIGIN, False, FileKind.EVERGREEN, life, None, False)
    text = schema.FileText(PATH, [each.entry for each in rows], FileKind.EVERGREEN, rows[0].about)
    documents = [
        document_text(fields) + lifetime_text(lifetime)
        for fields in schema.text_fields(text, language, owner)
    ]
    values = list(map(json.loads, documents))
    for each in values:
        each["row"] = [base64.b64decode(each["row"], validate=True)]
    assert values == list(schema.document_fields(PATH, rows, language))
