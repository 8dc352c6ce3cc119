"""Write texts that are no conversations as memories, with questions whose lines are known: `python
benchmarks/other_texts.py ROOT OUT`.

ROOT is a folder into which these Debian packages were unpacked (`apt-get download` and `dpkg-deb
-x`; any of them may be missing):

    developers-reference debian-policy debian-faq debian-faq-ja debian-faq-zh-cn
    debian-reference-en debian-reference-de debian-reference-fr debian-reference-es
    debian-reference-it debian-reference-ja debian-reference-zh-cn
    fish-common coreutils findutils git-man grep sed tar rsync curl wget

Their texts are under the GPL, the terms of Debian Policy and those of curl; they are read where
they are, and nothing of them is part of this repository. OUT gets what `other_measure.py` reads,
one folder a set; the same at every run.

- Documentation in topic files: a question is the title of a section, which is removed; the answer
  is the first entry below it.
- The same cut into sentences, each a list item. And questions of a FAQ without any heading.
- The same documentation as it is, with a few words of an entry as the question: what somebody types
  who remembers what it says.
- Options of commands as lists: a question is the description that the completions of a shell give;
  the answer is the item of the manual.
- Meetings of 800 turns made of sentences of the documentation, with fillers: a question has two
  words of the turn that is meant.
- Functions of Python's library in fences: a question is the first line of the docstring, which is
  removed.
"""

import argparse
import ast
import gzip
import html
import json
import random
import re
import shlex
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from mdmem.text.terms import STOP_WORDS

MOST_QUESTIONS = 400
UNSPACED = ("ja", "zh-cn")
LEAST_ENTRY = {True: 30, False: 60}
"""The fewest characters of an answer, in scripts without spaces and in others."""
TURNS, SUBJECTS, FILLERS = 800, 14, 0.3
SPEAKERS = ("Anna", "Boris", "Carla", "Dev")
FILLING = (
    "Yeah.",
    "Okay.",
    "Right, right.",
    "I think so.",
    "Mm-hmm.",
    "So, yeah.",
    "Can you say that again?",
    "Let us move on.",
)

_NUMBERING = re.compile(
    r"^\s*(?:(?:Chapter|Appendix|Kapitel|Anhang|第)?\s*[\dA-Z]+(?:\.\d+)*\s*[.章]\s*)+"
)
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_WORD, _RUN = re.compile(r"[^\W\d_]{4,}"), re.compile("[\u4e00-\u9fff]{2,6}|[\u30a1-\u30fc]{3,8}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ])|(?<=[。！？])")
_SKIPPED_CLASSES = {
    "navheader",
    "navfooter",
    "toc",
    "sphinxsidebar",
    "related",
    "footer",
    "headerlink",
    "navigation",
    "contents",
}


@dataclass
class Section:
    """A heading with its level and the entries of its own text: prose as it is, code with its line
    ends.
    """

    level: int
    title: str
    entries: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Memory:
    """A set: files by name, and questions with the file and line of the answer."""

    files: dict[str, list[str]] = field(default_factory=dict)
    questions: list[tuple[str, str, int]] = field(default_factory=list)

    def add(self, name: str, line: str, question: str | None = None) -> None:
        """Add an entry to a file, and a question that it answers."""
        lines = self.files.setdefault(name, [])
        lines += line.split("\n")
        if question:
            self.questions.append((question, name, len(lines) - line.count("\n")))

    def write(self, folder: Path) -> int:
        """Write the files, and the questions beside them; their number."""
        evidence: dict[tuple[str, str], list[int]] = defaultdict(list)
        for question, name, line in self.questions:
            evidence[question, name].append(line)
        chosen = random.Random(1).sample(list(evidence), min(MOST_QUESTIONS, len(evidence)))
        (folder / "memory").mkdir(parents=True, exist_ok=True)
        for name, lines in self.files.items():
            (folder / "memory" / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        rows = [
            {
                "question": question,
                "evidence_lines": [
                    [f"memory/{name}.md", line] for line in evidence[question, name]
                ],
            }
            for question, name in chosen
        ]
        (folder / "questions.json").write_text(
            json.dumps(rows, ensure_ascii=False, indent=0), encoding="utf-8"
        )
        return len(rows)


class Page(HTMLParser):
    """The sections of a page of documentation."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[Section] = []
        self._open: list[tuple[str, bool]] = []
        self._text: list[str] = []
        self._kind = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a part of the text, or skip what is navigation."""
        if tag in ("br", "img", "meta", "link", "hr", "input", "col"):
            return
        classes = set((dict(attrs).get("class") or "").split())
        self._open.append(
            (tag, tag in ("script", "style", "head") or bool(classes & _SKIPPED_CLASSES))
        )
        if tag in ("p", "li", "dd", "dt", "tr", "pre", "h1", "h2", "h3", "h4", "h5"):
            self._finish()
            self._kind = tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Ignore tags without content."""

    def handle_endtag(self, tag: str) -> None:
        """Finish a part of the text."""
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag in ("p", "li", "dd", "dt", "tr", "pre", "h1", "h2", "h3", "h4", "h5"):
            self._finish()

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if not any(skipped for _, skipped in self._open):
            self._text.append(data)

    def _finish(self) -> None:
        kind, text = self._kind, "".join(self._text)
        self._text, self._kind = [], ""
        plain = text.strip("\n") if kind == "pre" else " ".join(text.replace("¶", "").split())
        if not plain or not kind:
            return
        if kind[0] == "h":
            self.sections.append(Section(int(kind[1]), _NUMBERING.sub("", plain) or plain))
        elif self.sections:
            self.sections[-1].entries.append((kind, plain))


def sections_of(files: Sequence[Path]) -> Iterator[tuple[str, list[Section]]]:
    """Name and sections of each page."""
    for file in files:
        page = Page()
        page.feed(file.read_text(encoding="utf-8", errors="replace"))
        if page.sections:
            yield file.name.removesuffix(".html").replace(".", "-"), page.sections


def is_title(title: str, unspaced: bool) -> bool:
    """True if a title says enough for a question, in the language of its text; what is not
    translated is no question.
    """
    if unspaced:
        return len(_UNSPACED.findall(title)) >= 4
    return (
        title.isprintable()
        and sum(word.lower() not in STOP_WORDS for word in re.findall(r"[^\W\d_]{2,}", title)) >= 2
    )


def documentation(
    files: Sequence[Path], unspaced: bool = False, sentences: bool = False, headings: bool = True
) -> Memory:
    """Topic files, one a page; every second title is asked for and removed (without headings:
    every one).
    """
    memory, rng, titles = Memory(), random.Random(2), set()
    for name, sections in sections_of(files):
        for number, section in enumerate(sections):
            asked = (
                is_title(section.title, unspaced)
                and section.title not in titles
                and (not headings or rng.random() < 0.5)
            )
            titles.add(section.title)
            question = section.title if asked else None
            if headings:
                memory.add(
                    name,
                    f"\n{'#' * section.level} {f'Part {number}' if asked else section.title}\n",
                )
            for kind, text in section.entries:
                fits = len(text) >= LEAST_ENTRY[bool(_UNSPACED.search(text))] and kind != "pre"
                for sentence in _SENTENCE.split(text) if sentences and kind != "pre" else [text]:
                    if sentence.strip():
                        memory.add(
                            name,
                            written(kind, sentence.strip(), sentences),
                            question if fits else None,
                        )
                        question = None if fits else question
    return memory


def paragraphs(files: Sequence[Path], unspaced: bool = False) -> Memory:
    """Topic files as they are, one a page; a question is a few words of one of the entries."""
    memory, rng = Memory(), random.Random(4)
    for name, sections in sections_of(files):
        for section in sections:
            memory.add(name, f"\n{'#' * section.level} {section.title}\n")
            for kind, text in section.entries:
                fits = (
                    kind in ("p", "li")
                    and len(text) >= LEAST_ENTRY[unspaced]
                    and bool(_UNSPACED.search(text)) is unspaced
                )
                memory.add(
                    name,
                    written(kind, text, False),
                    words_of(rng, text, unspaced) if fits else None,
                )
    return memory


def words_of(rng: random.Random, text: str, unspaced: bool) -> str | None:
    """Three words of a text in their order; in scripts without spaces, two runs of one kind of
    character.
    """
    pattern, count = (_RUN, 2) if unspaced else (_WORD, 3)
    words = list(
        dict.fromkeys(word for word in pattern.findall(text) if word.lower() not in STOP_WORDS)
    )
    return (
        " ".join(sorted(rng.sample(words, count), key=words.index))
        if len(words) >= 2 * count
        else None
    )


def written(kind: str, text: str, as_item: bool) -> str:
    """An entry as Markdown."""
    if kind == "pre":
        return f"\n```\n{text}\n```\n"
    escaped = re.sub(r"^([#>+*`~-])", r"\\\1", text)
    return f"- {escaped}" if as_item or kind in ("li", "tr", "dt") else f"{escaped}\n"


def manual_items(text: str) -> Iterator[tuple[str, str]]:
    """The options of a manual page, each with what is said of it."""
    plain = (
        re.sub(r"\\f.|\\,|\\/|\\&|\\:", "", text)
        .replace("\\-", "-")
        .replace("\\(aq", "'")
        .replace("\\", "")
    )
    for part in re.split(r"\n\.(?:TP|PP)[^\n]*\n|\n\.IP (?=\")", plain):
        tag, _, body = part.lstrip().strip().partition("\n")
        body = re.split(r"\n\.(?:SH|SS)\b", body)[0]
        said = " ".join(
            line for line in re.sub(r"^\.\w+ ?", "", body, flags=re.M).split("\n")
        ).split()
        if re.match(r'"?-', tag) and len(said) >= 3:
            yield tag.strip('"').split('" ')[0], " ".join(said)


def completions(text: str) -> Iterator[tuple[list[str], str]]:
    """The options and descriptions that completions of a shell have for a command."""
    for line in text.splitlines():
        if not line.startswith("complete ") and " complete " not in line:
            continue
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        following = list(pairwise(words))
        options = [f"--{value}" for name, value in following if name in ("-l", "--long-option")]
        said = [value for name, value in following if name in ("-d", "--description")]
        if options and said:
            yield options, said[0]


def options(root: Path) -> Memory:
    """A list of options for each command, and the description of a shell as the question."""
    memory = Memory()
    for manual in sorted((root / "usr/share/man/man1").glob("*.1.gz")):
        command = manual.name.removesuffix(".1.gz")
        shell = (
            root
            / "usr/share/fish/completions"
            / f"{command.partition('-')[0] if command.startswith('git-') else command}.fish"
        )
        if not shell.exists():
            continue
        lines = shell.read_text(encoding="utf-8").split("\n")
        if command.startswith("git-"):
            verb = command.removeprefix("git-")
            lines = [
                line
                for line in lines
                if re.search(rf"__fish_git_using_command (?:[\w-]+ )*{verb}\b", line)
            ]
        said = {
            option: text for options, text in completions("\n".join(lines)) for option in options
        }
        items = list(manual_items(gzip.decompress(manual.read_bytes()).decode("utf-8", "replace")))
        if len(items) < 8 or not said:
            continue
        memory.add(command, f"# {command}\n\n## Options\n")
        for tag, text in items:
            long = next(
                (
                    option
                    for option in re.findall(r"--[\w-]+", tag)
                    if len(said.get(option, "").split()) >= 3
                ),
                None,
            )
            question = f"{command.replace('-', ' ')}: {html.unescape(said[long])}" if long else None
            memory.add(command, f"- `{tag}`: {text[:600]}", question)
    return memory


def meetings(files: Sequence[Path], count: int = 4) -> Memory:
    """Meetings of sentences, 14 subjects each, one turn a list item; a question holds two words of
    a turn.
    """
    memory, rng = Memory(), random.Random(3)
    pages = [
        [text for section in sections for kind, text in section.entries if kind == "p"]
        for _, sections in sections_of(files)
    ]
    subjects = [
        [part for text in page for part in _SENTENCE.split(text) if 30 < len(part) < 300]
        for page in pages
    ]
    subjects = [
        subject[at : at + 60] for subject in subjects for at in range(0, len(subject) - 30, 60)
    ]
    rng.shuffle(subjects)
    for number in range(count):
        name = f"2026-03-{number + 1:02}"
        memory.add(name, f"# {name}\n\n## 10:00 Meeting\n")
        turns = 0
        for subject in subjects[number * SUBJECTS : (number + 1) * SUBJECTS]:
            for sentence in subject:
                while rng.random() < FILLERS and turns < TURNS:
                    memory.add(name, f"- {rng.choice(SPEAKERS)}: {rng.choice(FILLING)}")
                    turns += 1
                if turns < TURNS:
                    speaker, turns = rng.choice(SPEAKERS), turns + 1
                    memory.add(
                        name, f"- {speaker}: {sentence}", meeting_question(rng, speaker, sentence)
                    )
    return memory


def meeting_question(rng: random.Random, speaker: str, sentence: str) -> str | None:
    """A question about a turn: two of its words, every second time with the speaker."""
    words = list(
        dict.fromkeys(word for word in _WORD.findall(sentence) if word.lower() not in STOP_WORDS)
    )
    if len(words) < 4:
        return None
    about = " and ".join(sorted(rng.sample(words, 2), key=words.index))
    return (
        f"What did {speaker} say about {about}?"
        if rng.random() < 0.5
        else f"What was said about {about}?"
    )


def code() -> Memory:
    """Functions of Python's library without their docstrings, in fences, one file a module."""
    memory, library = Memory(), Path(sysconfig.get_paths()["stdlib"])
    for name in (
        "shutil",
        "textwrap",
        "statistics",
        "tarfile",
        "zipfile",
        "pathlib",
        "subprocess",
        "calendar",
        "configparser",
        "cgitb",
    ):
        file = library / f"{name}.py"
        source = file.read_text(encoding="utf-8") if file.exists() else ""
        lines = source.split("\n")
        for node in ast.walk(ast.parse(source)):
            said = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if not isinstance(node, ast.FunctionDef) or not said or len(node.body) < 2:
                continue
            first = said.split("\n\n")[0].replace("\n", " ")
            body = (
                lines[node.lineno - 1 : node.body[0].lineno - 1]
                + lines[node.body[0].end_lineno or 0 : node.end_lineno]
            )
            memory.add(name, "\n```python\n" + "\n".join(body) + "\n```", None)
            if len(first.split()) >= 4:
                memory.questions.append((first, name, len(memory.files[name]) - len(body)))
    return memory


def sets(root: Path) -> Iterator[tuple[str, Memory]]:
    """Every set that can be made of the packages in a folder."""
    english = sorted((root / "usr/share/developers-reference").glob("*.html"))
    policy = sorted((root / "usr/share/doc/debian-policy/policy.html").glob("*.html"))
    yield "documentation", documentation([*english, *policy])
    yield "paragraphs", paragraphs([*english, *policy])
    for language in ("en", "de", "fr", "es", "it", "zh-cn", "ja"):
        reference = sorted((root / "usr/share/debian-reference").glob(f"ch*.{language}.html"))
        yield f"reference-{language}", documentation(reference, language in UNSPACED)
        yield f"paragraphs-{language}", paragraphs(reference, language in UNSPACED)
        yield (
            f"sentences-{language}",
            documentation(reference, language in UNSPACED, sentences=True),
        )
    for language in ("en", "ja", "zh-cn"):
        faq = root / "usr/share/doc/debian/FAQ"
        files = sorted((faq if language == "en" else faq / language).glob(f"*.{language}.html"))
        yield f"faq-{language}", documentation(files, language in UNSPACED, headings=False)
    yield "options", options(root)
    yield (
        "meetings",
        meetings([*english, *sorted((root / "usr/share/debian-reference").glob("ch*.en.html"))]),
    )
    yield "code", code()


def write_sets(memories: Iterable[tuple[str, Memory]], out: Path) -> None:
    """Write the sets that have questions."""
    for name, memory in memories:
        if memory.questions:
            entries = sum(len(lines) for lines in memory.files.values())
            print(
                f"{name:<18}{memory.write(out / name):>5} questions, {len(memory.files)}"
                f" files, {entries} lines",
                flush=True,
            )


def main() -> None:
    """Write the sets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    write_sets(sets(args.root), args.out)


if __name__ == "__main__":
    main()
