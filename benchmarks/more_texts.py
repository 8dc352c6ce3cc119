"""Write more sets beside those of `other_texts.py`: `python benchmarks/more_texts.py ROOT OUT
[--held-out]`. They are notes on code, dated logs, meetings and chats, and questions cut
out of the text, which is a question in every language.

- Notes on code, one line a thing below the heading of its module, as an agent writes them: options
  of Vim (the question is what its quick reference says), functions of Python's documentation (the
  docstring), options of manuals in other languages (what the completions of fish say there).
- `cloze`: a question is a sentence of an entry of two or more, which is removed; the answer is the
  rest of it.
- Dated logs: ChangeLogs of GNU, and that of Python, one file a day.
- Meetings: QMSum (MIT), whose questions have the turns that answer them. Chats: FriendsQA (Apache
  2.0). ROOT holds their files: `qmsum/*.jsonl`, `friendsqa/*.json`.
"""

import argparse
import gettext
import gzip
import html
import importlib
import inspect
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

from other_texts import (
    _SENTENCE,
    _UNSPACED,
    Memory,
    completions,
    documentation,
    manual_items,
    sections_of,
    words_of,
    write_sets,
    written,
)

LEAST_SENTENCE = {True: 12, False: 40}
"""The fewest characters of a question cut out of a text, without spaces and with."""
LONGEST_ANSWER = 40
"""The most turns that a question of a meeting may have as its answer."""
_NUMPY = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.ma",
    "numpy.random",
    "numpy.polynomial.polynomial",
    "numpy.lib.stride_tricks",
    "numpy.testing",
    "numpy.char",
)
_VIM_GROUP = re.compile(r'call <SID>(Header|AddOption)\((?:"(\w+)", )?gettext\("([^"]+)"\)\)')
_VIM_OPTION = re.compile(r"^'(\w+)'[^\n]*\n((?:\t[^\n]*\n|\n)+)", re.M)
_LOG_DAY = re.compile(r"^(\d{4}-\d{2}-\d{2})\s")
_RELEASE_DAY = re.compile(r"Release date: (\d{4}-\d{2}-\d{2})")


def cloze(text: str, rng: random.Random) -> tuple[str, str] | None:
    """A text of some sentences without one of them, and that one."""
    sentences = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    least = LEAST_SENTENCE[bool(_UNSPACED.search(text))]
    if len(sentences) < 2:
        return None
    at = rng.randrange(len(sentences))
    rest = " ".join(sentences[:at] + sentences[at + 1 :])
    return (rest, sentences[at]) if min(len(rest), len(sentences[at])) >= least else None


def cloze_pages(files: Sequence[Path], unspaced: bool = False) -> Memory:
    """Topic files, one a page; every fourth entry of some sentences is asked for by one of them."""
    memory, rng = Memory(), random.Random(5)
    for name, sections in sections_of(files):
        for section in sections:
            memory.add(name, f"\n{'#' * section.level} {section.title}\n")
            for kind, text in section.entries:
                fits = kind in ("p", "li") and bool(_UNSPACED.search(text)) is unspaced
                cut = cloze(text, rng) if fits and rng.random() < 0.25 else None
                rest, question = cut or (text, None)
                memory.add(name, written(kind, rest, False), question)
    return memory


def with_pointers(memory: Memory) -> Memory:
    """A set with a list of links besides, one for each question."""
    for question, name, _ in tuple(memory.questions):
        memory.add("index", f"- [{question}]({name}.md)")
    return memory


def vim_options(root: Path) -> Memory:
    """The options of Vim below the headings of its option window."""
    memory, folder = Memory(), root / "usr/share/vim/vim90"
    if not folder.exists():
        return memory
    texts = {
        match[1]: re.split(r"(?<=[.)])\s", " ".join(_vim_prose(match[2]).split()))
        for match in _VIM_OPTION.finditer((folder / "doc/options.txt").read_text("utf-8"))
    }
    quick = dict(
        re.findall(
            r"^'(\w+)'\s+(?:'\w+'\s+)?(\S[^\n]+)$",
            (folder / "doc/quickref.txt").read_text("utf-8"),
            re.M,
        )
    )
    for kind, name, said in _VIM_GROUP.findall((folder / "optwin.vim").read_text("utf-8")):
        if kind == "Header":
            memory.add("vim", f"\n## {said}\n")
        elif text := " ".join(texts.get(name, [""])[:2]):
            question = quick.get(name)
            memory.add("vim", f"- `{name}`: {text}", question)
    return memory


def _vim_prose(block: str) -> str:
    return "".join(
        line + "\n"
        for line in block.split("\n")
        if line.startswith("\t") and not re.match(r"\t\t\t|\t\{", line)
    )


def library(root: Path) -> Memory:
    """Functions and classes of Python's documentation, two sentences each, below their module."""
    memory, rng = Memory(), random.Random(6)
    files = sorted((root / "usr/share/doc/python3.11/html/library").glob("*.html"))
    rng.shuffle(files)
    for name, sections in sections_of(files[:150]):
        pairs = [
            (entries[at][1], entries[at + 1][1])
            for section in sections
            for entries in [section.entries]
            for at in range(len(entries) - 1)
            if entries[at][0] == "dt" and entries[at + 1][0] == "p" and "(" in entries[at][1]
        ]
        if len(pairs) < 4:
            continue
        memory.add("code", f"\n## {name}\n")
        for signature, text in pairs:
            said = " ".join(_SENTENCE.split(text)[:2])
            plain = signature.removeprefix("class ")
            memory.add(
                "code",
                f"- `{plain.split('(')[0]}()`: {said}",
                _docstring(plain.split("(")[0], said),
            )
    return memory


def _docstring(name: str, said: str) -> str | None:
    """The first sentence of what a function says of itself in other words."""
    module, _, rest = name.partition(".")
    if module in ("antigravity", "this", "idlelib", "turtle"):
        return None
    try:
        value: object = importlib.import_module(module)
        for part in rest.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError):
        return None
    first = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    first = re.split(r"(?<=\.)\s", first)[0]
    unlike = first and first[:40].lower() not in said.lower()
    return first if unlike and len(first.split()) >= 4 and "(" not in first else None


def numpy_functions() -> Memory:
    """Functions and classes of numpy, if it is installed: two sentences of the second paragraph of
    the docstring, and the first one as the question.
    """
    memory = Memory()
    try:
        modules = [importlib.import_module(name) for name in _NUMPY]
    except ImportError:
        return memory
    seen = set[int]()
    for module in modules:
        memory.add("code", f"\n## {module.__name__}\n")
        for name in sorted(dir(module)):
            value = getattr(module, name)
            parts = (inspect.getdoc(value) or "").split("\n\n") if callable(value) else []
            plain = [
                part for part in parts if not re.search(r"^[-=.>]|\n-{3}| -> |^\w+\(.*\)", part)
            ][:2]
            if name[0] == "_" or id(value) in seen or len(plain) < 2:
                continue
            seen.add(id(value))
            question, said = (" ".join(part.split()) for part in plain)
            said = " ".join(_SENTENCE.split(said)[:2])
            if len(said) >= 40:
                memory.add("code", f"- `{name}()`: {said}", question)
    return memory


def translated_options(root: Path, language: str) -> Memory:
    """Options of manuals of a language, and what the completions of a shell say in it."""
    memory = Memory()
    catalogue = root / f"usr/share/locale/{language}/LC_MESSAGES/fish.mo"
    if not catalogue.exists():
        return memory
    with catalogue.open("rb") as file:
        translate = gettext.GNUTranslations(file).gettext
    for manual in sorted((root / f"usr/share/man/{language}/man1").glob("*.1.gz")):
        command = manual.name.removesuffix(".1.gz")
        shell = root / f"usr/share/fish/completions/{command}.fish"
        if not shell.exists():
            continue
        said = {
            option: translate(text)
            for options, text in completions(shell.read_text("utf-8"))
            for option in options
            if translate(text) != text
        }
        items = list(manual_items(_manual(manual)))
        if len(items) < 6 or not said:
            continue
        memory.add("commands", f"\n## {command}\n")
        for tag, text in items:
            long = next((each for each in re.findall(r"--[\w-]+", tag) if each in said), None)
            question = html.unescape(said[long]) if long else None
            memory.add("commands", f"- `{tag}`: {text[:400]}", question)
    return memory


def cloze_options(root: Path, language: str) -> Memory:
    """Options of manuals of a language; a question is a sentence of one."""
    memory, rng = Memory(), random.Random(7)
    folder = root / f"usr/share/man/{language}"
    for manual in sorted([*folder.glob("man1/*.gz"), *folder.glob("man8/*.gz")]):
        items = list(manual_items(_manual(manual)))
        if len(items) < 6:
            continue
        memory.add("commands", f"\n## {manual.name.partition('.')[0]}\n")
        for tag, text in items:
            cut = cloze(text[:600], rng)
            rest, question = cut or (text[:600], None)
            memory.add("commands", f"- `{tag}`: {rest}", question)
    return memory


def _manual(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode("utf-8", "replace").replace("\\ ", " ")


def changelogs(files: Sequence[Path]) -> Memory:
    """ChangeLogs of GNU as daily logs; a question is a few words of an entry."""
    memory, rng = Memory(), random.Random(8)
    days: dict[str, list[str]] = defaultdict(list)
    for file in files:
        day = ""
        for part in re.split(
            r"\n\s*\n", gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        ):
            if head := _LOG_DAY.match(part.lstrip()):
                day = head[1]
                part = part.lstrip().partition("\n")[2]
            text = " ".join(part.split())
            if day >= "2005" and len(text) >= 40:
                days[day].append(f"{file.parent.name}: {text.lstrip('* ')[:500]}")
    for day in sorted(days):
        memory.add(day, f"# {day}\n")
        for text in days[day]:
            memory.add(day, f"- {text}", words_of(rng, text, False) if rng.random() < 0.1 else None)
    return memory


def python_changelog(root: Path) -> Memory:
    """The changelog of Python as daily logs; a question is a sentence of an entry."""
    memory, rng = Memory(), random.Random(9)
    file = root / "usr/share/doc/python3.11/html/whatsnew/changelog.html.gz"
    if not file.exists():
        return memory
    plain = root / "changelog.html"
    plain.write_bytes(gzip.decompress(file.read_bytes()))
    day = None
    for _, sections in sections_of([plain]):
        for section in sections:
            for kind, text in section.entries:
                if released := _RELEASE_DAY.search(text):
                    day = released[1]
                    memory.add(day, f"# {day}\n")
                elif day and kind in ("li", "p"):
                    said = re.sub(r"^(?:bpo|gh)-\d+(?:, bpo-\d+)*: ", "", text)[:600]
                    cut = cloze(said, rng) if rng.random() < 0.3 else None
                    rest, question = cut or (said, None)
                    memory.add(day, f"- {section.title}: {rest}", question)
    return memory


def qmsum(files: Sequence[Path]) -> Memory:
    """Meetings turn by turn, one a day."""
    memory, day = Memory(), date(2025, 1, 1)
    for file in files:
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            day += timedelta(days=1)
            name, first = str(day), 3
            memory.add(name, f"# {name}\n\n## 10:00 Meeting")
            for turn in row["meeting_transcripts"]:
                text = " ".join(re.sub(r"\{\w+\}", "", turn["content"]).split()) or "-"
                memory.add(name, f"- {turn['speaker']}: {text}")
            for asked in row["specific_query_list"]:
                spans = [(int(low), int(high)) for low, high in asked["relevant_text_span"]]
                lines = [line for low, high in spans for line in range(low, high + 1)]
                if len(lines) <= LONGEST_ANSWER:
                    for line in lines:
                        memory.questions.append((asked["query"], name, first + line + 1))
    return memory


def friends(files: Sequence[Path]) -> Memory:
    """Scenes of a play as chats, one a day."""
    memory, day = Memory(), date(2025, 1, 1)
    for file in files:
        for scene in json.loads(file.read_text(encoding="utf-8"))["data"]:
            day += timedelta(days=1)
            name = str(day)
            memory.add(name, f"# {name}\n\n## 10:00")
            lines: dict[int, int] = {}
            for part in scene["paragraphs"]:
                for turn in part["utterances:"]:
                    text = " ".join(turn["utterance"].split()) or "-"
                    memory.add(name, f"- {', '.join(turn['speakers'])}: {text}")
                    lines[turn["uid"]] = len(memory.files[name])
                for asked in part["qas"]:
                    memory.questions += {
                        (asked["question"], name, lines[each["utterance_id"]])
                        for each in asked["answers"]
                        if each["utterance_id"] in lines
                    }
    return memory


def more_sets(root: Path, held_out: bool) -> Iterator[tuple[str, Memory]]:
    """The sets for tuning, or those that are held out."""
    docs, faq = root / "usr/share/doc", root / "usr/share/doc/debian/FAQ"

    def reference(language: str) -> list[Path]:
        return sorted((root / "usr/share/debian-reference").glob(f"ch*.{language}.html"))

    if not held_out:
        yield "notes-vim", vim_options(root)
        yield "notes-numpy", numpy_functions()
        yield "notes-de", translated_options(root, "de")
        yield "notes-fr", cloze_options(root, "fr")
        for language in ("en", "de", "fr", "ja", "zh-cn"):
            yield f"cloze-{language}", cloze_pages(reference(language), language in ("ja", "zh-cn"))
        yield "pointers", with_pointers(documentation(reference("en")))
        yield "faq-de", documentation(sorted((faq / "de").glob("*.de.html")), headings=False)
        names = ("tar", "grep", "wget", "findutils", "sed", "coreutils")
        yield "log-gnu", changelogs(sorted(docs / name / "changelog.gz" for name in names))
        yield "meetings-product", qmsum(sorted((root / "qmsum").glob("Product*.jsonl")))
        return
    yield "notes-python", library(root)
    yield "notes-fr", translated_options(root, "fr")
    for language in ("es", "ja"):
        yield f"notes-{language}", cloze_options(root, language)
    python = docs / "python3.11/html"
    guides = sorted(
        each for name in ("howto", "tutorial", "faq") for each in (python / name).glob("*.html")
    )
    postgres = sorted(docs.glob("postgresql-doc-15/html/*.html"))[::5]
    yield "docs-python", documentation(guides)
    yield "cloze-python", cloze_pages(guides)
    yield "pointers-python", with_pointers(documentation(guides))
    yield "docs-postgres", documentation(postgres)
    yield "cloze-postgres", cloze_pages(postgres)
    developers = root / "usr/share/developers-reference"
    for language in ("de", "fr", "ja"):
        pages = sorted((developers / language).glob("*.html"))
        yield f"docs-{language}", documentation(pages, language == "ja")
        yield f"cloze-developers-{language}", cloze_pages(pages, language == "ja")
    spanish = sorted((docs / "aptitude/html/es").glob("*.html"))
    yield "docs-es", documentation(spanish)
    yield "cloze-es", cloze_pages(spanish)
    yield "faq-fr", documentation(sorted((faq / "fr").glob("*.fr.html")), headings=False)
    yield "faq-python", documentation(sorted((python / "faq").glob("*.html")), headings=False)
    yield "log-python", python_changelog(root)
    yield "meetings-committee", qmsum(sorted((root / "qmsum").glob("Committee*.jsonl")))
    yield "chat-friends", friends(sorted((root / "friendsqa").glob("*.json")))


def main() -> None:
    """Write the sets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--held-out", action="store_true", help="those not to be tuned on")
    args = parser.parse_args()
    write_sets(more_sets(args.root, args.held_out), args.out)


if __name__ == "__main__":
    main()
