"""Fit the gate (`mdmem/index/gate.py`): does memory carry a prompt? `python benchmarks/gate.py
DATA UPDATES [--held-out PROMPTS]`.

DATA is described in README.md; UPDATES has a case of knowledge that changes on each line, with its
writes and its questions. Prompts that memory carries: each conversation's own questions, those of
the cases, and the questions of a small curated memory (tests/test_search_curated.py); the last two
asked of their memory alone and of one together with a conversation. Prompts that it does not carry:
questions of other conversations, and prompts of coding sessions (below). A logistic regression by
Newton's method gives the weights; each group counts by its weight, however many prompts it has. The
constant is then moved so that one in 110 of the conversations' own questions gets nothing.

Printed: the weights, to be put into the module; and the share of each group that gets nothing, with
the fitted weights and with those of the module. --held-out names a file of prompts, one a line,
that need no memory and that nothing is fitted on.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from conversations import ask, build_index, index_conversations, read_files, read_questions

from mdmem.index import gate
from mdmem.index.indexer import SearchIndex
from mdmem.text.terms import query_terms

CODING = """
    yes please|ok|sounds good|do it|go ahead and merge|what changed in this file?|make it faster|why does the test fail?|explain this function
    rename foo to bar everywhere|use async here|add error handling|can you refactor this class?|fix the failing test in test_parser.py
    write a README for this project|remove the unused imports|the build fails with a segfault, look into it|how do I run this locally?
    add logging to the request handler|is this thread safe?|sort the imports|run it again with verbose output|update the changelog
    that is wrong, undo it|stop|push it|let us try another approach|why is this query slow?|convert this to typescript
    add a test for the empty list|what does this error mean?|please continue with the next step|check the types|can you simplify this?
    looks right|no, the other one|add a column to the users table|deploy to staging|write a migration|center the div
"""
PROMPTS = [prompt.strip() for line in CODING.strip().splitlines() for prompt in line.split("|")]
SILENT_OWN = 1 / 110
OTHERS_EACH = 80
MIXED = "conv-42"
LOOKED_AT = 8
STEPS, RIDGE = 40, 1e-4

Features = list[float]
Pairs = Sequence[tuple[SearchIndex, str]]


def features(index: SearchIndex, prompt: str) -> Features | None:
    """The measures of a prompt, 1 first for the constant; None where nothing is found, so that
    nothing is to be decided.
    """
    hits = [hit for hit in ask(index, prompt, LOOKED_AT) if not hit.near]
    lexicon = index.finder.lexicon
    words = gate.prompt_words(prompt, lexicon)
    if not hits or not words:
        return None
    evidence = gate.measure_evidence(prompt, words, hits, lexicon.total, lexicon.languages)
    return [
        1.0,
        evidence.score,
        evidence.matched,
        math.log(1 + evidence.missing),
        evidence.routine_request,
        evidence.routine_question,
    ]


def read_updates(path: Path) -> tuple[dict[str, str], list[str]]:
    """The files that hold what is current after all cases, and the questions about it."""
    sections: dict[str, dict[str, list[str]]] = {}
    questions = []
    for case in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        gone = {old for olds in case.get("supersedes", {}).values() for old in olds}
        for write in case["writes"]:
            match write["op"]:
                case "fact" if write["id"] not in gone:
                    heading = " ".join([write["subject"], *write["section"]])
                    sections.setdefault(write["file"], {}).setdefault(heading, []).append(
                        write["text"]
                    )
                case "edit":
                    texts = [line["text"] for line in write["lines"]]
                    sections.setdefault(write["file"], {}).setdefault(
                        " ".join(write["section"]), []
                    ).extend(texts)
                case "log":
                    sections.setdefault("memory/2025-01-05.md", {}).setdefault("10:00", []).append(
                        write["text"]
                    )
        questions += [
            query["question"]
            for query in case["queries"]
            if query["mode"] == "current" and query.get("must")
        ]
    files = {
        name: (
            "# Memory\n\n"
            + "".join(
                f"## {heading}\n\n" + "".join(f"- {text}\n" for text in texts) + "\n"
                for heading, texts in of_file.items()
            )
        )
        for name, of_file in sections.items()
    }
    return files, questions


def groups(
    data: Path, updates: Path, held_out: Path | None
) -> dict[str, tuple[bool, float, Pairs]]:
    """The groups of prompts by name: True if memory carries them, the weight of the group, and its
    prompts with their indexes.
    """
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from test_search_curated import FILES, QUESTIONS

    chance = random.Random(5)
    indexes = index_conversations(data)
    questions = read_questions(data)
    curated, mixed = build_index(FILES), build_index({**FILES, **read_files(data / MIXED)})
    other = {
        name: [each.text for each in questions if each.conversation != name] for name in indexes
    }
    changed_files, changed_questions = read_updates(updates)
    changed, changed_mixed = (
        build_index(changed_files),
        build_index({**changed_files, **read_files(data / MIXED)}),
    )
    elsewhere = [each.text for each in questions if each.conversation != MIXED]
    named = {
        "own questions": (
            True,
            1.0,
            [(indexes[each.conversation], each.text) for each in questions],
        ),
        "curated": (True, 0.3, [(curated, question) for question, _ in QUESTIONS]),
        "curated, mixed": (True, 0.5, [(mixed, question) for question, _ in QUESTIONS]),
        "updates": (True, 0.3, [(changed, question) for question in changed_questions]),
        "updates, mixed": (
            True,
            0.5,
            [(changed_mixed, question) for question in changed_questions],
        ),
        "other people's": (
            False,
            0.5,
            [
                (index, chance.choice(other[name]))
                for name, index in indexes.items()
                for _ in range(OTHERS_EACH)
            ],
        ),
        "coding": (
            False,
            0.5,
            [(index, prompt) for index in indexes.values() for prompt in PROMPTS],
        ),
        "other's, curated": (
            False,
            0.15,
            [(curated, question) for question in chance.sample(elsewhere, 200)],
        ),
        "other's, mixed": (
            False,
            0.15,
            [(mixed, question) for question in chance.sample(elsewhere, 200)],
        ),
        "coding, mixed": (False, 0.15, [(mixed, prompt) for prompt in PROMPTS]),
        "other's, updates": (
            False,
            0.15,
            [(changed, question) for question in chance.sample(elsewhere, 200)],
        ),
        "coding, updates": (False, 0.15, [(changed_mixed, prompt) for prompt in PROMPTS]),
    }
    if held_out is not None:
        lines = [line for line in held_out.read_text(encoding="utf-8").splitlines() if line.strip()]
        named["held out"] = (
            False,
            0.0,
            [(index, line) for index in indexes.values() for line in lines],
        )
    return {
        name: (carried, weight, list(filter(_has_words, pairs)))
        for name, (carried, weight, pairs) in named.items()
    }


def _has_words(pair: tuple[SearchIndex, str]) -> bool:
    """True for a prompt in a script with spaces; the others have a rule of their own."""
    return not query_terms(pair[1]).grams


def fit(rows: Sequence[tuple[Features, bool, float]]) -> Features:
    """The weights of a logistic regression."""
    size = len(rows[0][0])
    weights = [0.0] * size
    for _ in range(STEPS):
        slope = [0.0] * size
        bend = [[RIDGE * (i == j) for j in range(size)] for i in range(size)]
        for values, carried, weight in rows:
            share = 1 / (1 + math.exp(-max(-30.0, min(30.0, _sum(weights, values)))))
            for i in range(size):
                slope[i] += weight * (carried - share) * values[i]
                for j in range(size):
                    bend[i][j] += weight * share * (1 - share) * values[i] * values[j]
        weights = [old + step for old, step in zip(weights, solve(bend, slope), strict=True)]
    return weights


def solve(matrix: list[Features], right: Features) -> Features:
    """The solution of a system of linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        best = max(range(i, len(rows)), key=lambda number: abs(rows[number][i]))
        rows[i], rows[best] = rows[best], rows[i]
        for number, row in enumerate(rows):
            if number != i:
                share = row[i] / rows[i][i]
                rows[number] = [a - share * b for a, b in zip(row, rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def _sum(weights: Features, values: Features) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def show(name: str, weights: Features, measured: Mapping[str, Sequence[Features | None]]) -> None:
    """The share of each group that gets nothing."""
    print(f"\n{name}: " + " ".join(f"{weight:.2f}" for weight in weights))
    for group, rows in measured.items():
        silent = sum(row is None or _sum(weights, row) <= 0 for row in rows) / len(rows)
        print(f"  {group:<20} nothing for {silent:.3f} of {len(rows)}")


def main() -> None:
    """Fit the weights, and print what they do."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("updates", type=Path)
    parser.add_argument("--held-out", type=Path)
    args = parser.parse_args()
    named = groups(args.data, args.updates, args.held_out)
    measured = {
        name: [features(index, prompt) for index, prompt in pairs]
        for name, (_, _, pairs) in named.items()
    }
    rows = [
        (row, carried, weight / len(pairs))
        for name, (carried, weight, pairs) in named.items()
        for row in measured[name]
        if row is not None and weight
    ]
    weights = fit(rows)
    sums = sorted(_sum(weights, row) for row in measured["own questions"] if row is not None)
    weights[0] -= sums[int(SILENT_OWN * len(sums))]
    show("fitted", weights, measured)
    ours = [gate.CONSTANT, gate.SCORE_WEIGHT, gate.MATCHED_WEIGHT, gate.MISSING_WEIGHT]
    show("as it is", [*ours, gate.ROUTINE_REQUEST_WEIGHT, gate.ROUTINE_QUESTION_WEIGHT], measured)


if __name__ == "__main__":
    main()
