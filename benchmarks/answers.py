"""Measure answers, and not lines alone: `python benchmarks/answers.py --data DATA --model-command
"llm -m MODEL"`.

DATA is a folder in the form of `tune.py` (LoCoMo, BEAM) whose questions have an `answer`, or a file
of LongMemEval: a JSON list of `question`, `answer`, `question_type`, `haystack_dates` and
`haystack_sessions`. For each question the best hits of `mdmem search` are shown to the model up to
--tokens, with their days; its answer is judged against the right one by --judge-command (default:
the same), which says yes or no. Prints for each kind of question the number, the share judged
right, the tokens shown, and where the lines of the answer are known, the share of them shown.

A command gets a prompt on its standard input and writes to its standard output. --answer-prompt and
--judge-prompt name files with other prompts, for example those that a benchmark has published:
`{memory}`, `{day}`, `{question}`, `{answer}` and `{response}` in them are filled in.
"""

import argparse
import json
import random
import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from conversations import build_index, read_files

from mdmem.index.indexer import SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.model.prompts import count_tokens
from mdmem.model.searches import Hit

DEPTH = 100
ANSWER = """Answer the question from these notes, each with its day. Today is {day}. Answer in a few
words; say "I do not know" if the notes do not tell.

{memory}

Question: {question}
"""
JUDGE = """Is the response right? It is if it says what the right answer says, in whatever words,
and nothing against it. Begin with yes or no.

Question: {question}
Right answer: {answer}
Response: {response}
"""
_DAY = re.compile(r"(\d{4})[/-](\d{2})[/-](\d{2})")


@dataclass(frozen=True)
class Asked:
    """A question with its answer; `evidence`: the lines that hold it, where they are known."""

    kind: str
    text: str
    answer: str
    day: date
    evidence: frozenset[tuple[str, int]] = frozenset()


def memories(data: Path) -> Iterator[tuple[SearchIndex, list[Asked]]]:
    """Each memory of the data, with its questions."""
    if data.is_file():
        for row in json.loads(data.read_text(encoding="utf-8")):
            yield (
                build_index(logs_of(row)),
                [
                    Asked(
                        row.get("question_type", "all"),
                        row["question"],
                        str(row["answer"]),
                        day_of(row.get("question_date", "")),
                    )
                ],
            )
        return
    rows = map(json.loads, (data / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    asked: dict[str, list[Asked]] = defaultdict(list)
    for row in rows:
        if "answer" in row:
            evidence = frozenset((path, line) for path, line in row.get("evidence_lines", ()))
            asked[row["conversation"]].append(
                Asked(row["category"], row["question"], str(row["answer"]), date.max, evidence)
            )
    for name, questions in asked.items():
        files = read_files(data / name)
        last = max((day_of(path) for path in files), default=date.max)
        yield (
            build_index(files),
            [Asked(each.kind, each.text, each.answer, last, each.evidence) for each in questions],
        )


def logs_of(row: dict[str, Any]) -> dict[str, str]:
    """The sessions of a question of LongMemEval as daily logs."""
    logs: dict[str, list[str]] = defaultdict(list)
    for day, session in zip(row["haystack_dates"], row["haystack_sessions"], strict=True):
        for turn in session:
            speaker = "User" if turn["role"] == "user" else "Assistant"
            logs[f"memory/{day_of(day)}.md"].append(
                f"- {speaker}: {' '.join(turn['content'].split())}"
            )
    return {path: "\n".join((f"# {path[7:17]}", "", *lines, "")) for path, lines in logs.items()}


def day_of(text: str) -> date:
    """The day in a text; the last of all days where it has none."""
    match = _DAY.search(text)
    return date(*map(int, match.groups())) if match else date.max


def shown(index: SearchIndex, asked: Asked, tokens: int) -> tuple[list[Hit], str]:
    """The best hits that fit, and the notes made of them, in the order of their days."""
    found = index.finder.search(IndexQuery(asked.text, DEPTH, Filter(), asked.day))
    hits: list[Hit] = []
    for match in found:
        if sum(count_tokens(note(hit)) for hit in (*hits, match.hit)) <= tokens:
            hits.append(match.hit)
    hits.sort(key=lambda hit: (hit.day or date.min, hit.path, hit.start_line))
    return hits, "\n".join(map(note, hits))


def note(hit: Hit) -> str:
    """A hit as the model sees it."""
    return f"- {hit.day or hit.path}: {' '.join(hit.text.split())}"


def said(command: Sequence[str], prompt: str) -> str:
    """The answer of a command to a prompt; raises CalledProcessError."""
    done = subprocess.run(command, input=prompt, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model-command", type=shlex.split, required=True)
    parser.add_argument("--judge-command", type=shlex.split)
    parser.add_argument("--answer-prompt", type=Path)
    parser.add_argument("--judge-prompt", type=Path)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--most", type=int, help="so many questions, chosen by chance")
    args = parser.parse_args()
    prompts = [
        file.read_text(encoding="utf-8") if file else usual
        for file, usual in ((args.answer_prompt, ANSWER), (args.judge_prompt, JUDGE))
    ]
    every = [(index, asked) for index, questions in memories(args.data) for asked in questions]
    if args.most is not None:
        every = random.Random(7).sample(every, min(args.most, len(every)))
    rows: dict[str, list[tuple[bool, int, float | None]]] = defaultdict(list)
    for index, asked in every:
        hits, memory = shown(index, asked, args.tokens)
        told = {"memory": memory, "day": asked.day, "question": asked.text, "answer": asked.answer}
        told["response"] = said(args.model_command, prompts[0].format_map(told | {"response": ""}))
        judged = said(args.judge_command or args.model_command, prompts[1].format_map(told))
        lines = {(hit.path, hit.start_line) for hit in hits}
        held = len(asked.evidence & lines) / len(asked.evidence) if asked.evidence else None
        row = judged.casefold().startswith("yes"), count_tokens(memory), held
        rows[asked.kind].append(row)
        rows["all"].append(row)
    print(f"{'':<28}{'n':>6}{'right':>8}{'tokens':>8}{'lines':>8}")
    for kind, values in sorted(rows.items(), key=lambda each: each[0] == "all"):
        right, used = (sum(column) / len(values) for column in list(zip(*values, strict=True))[:2])
        known = [held for _, _, held in values if held is not None]
        share = f"{100 * sum(known) / len(known):8.1f}" if known else f"{'-':>8}"
        print(f"{kind:<28}{len(values):>6}{100 * right:8.1f}{used:8.0f}{share}")


if __name__ == "__main__":
    main()
