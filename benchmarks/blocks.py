"""Measure what a block for a prompt holds, and what it costs: `python benchmarks/blocks.py DATA`.

DATA is described in README.md. For each budget: the share of questions with a line of their answer
in the block, and the mean tokens of the block, with the numbers of `context` as they are,
and with each of them at other values. The gate is left out here (`gate.py`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from conversations import Question, ask, index_conversations, read_questions

from mdmem.context import parts
from mdmem.context import parts as budget
from mdmem.context.parts import FRAME_TOKENS
from mdmem.folder.layout import kind_of
from mdmem.model.prompts import ContextPart
from mdmem.model.searches import Hit

BUDGETS = (375, 500, 1000, 2000)
FLOORS = (0.3, 0.4, 0.45, 0.5)
EXPONENTS = (0.0, 0.05, 0.2, 0.3)
DEPTH = 200

Answers = Sequence[tuple[Question, tuple[Hit, ...]]]


def measure(answers: Answers, tokens: int) -> tuple[float, float]:
    """The share of questions with an answer in the block, and the mean tokens of the block."""
    held = used = 0
    for question, hits in answers:
        offer = parts.found_offer(hits, lambda hit: kind_of(hit.path))
        filling = budget.fill(
            ContextPart.FOUND, offer, tokens - FRAME_TOKENS, (), parts.say_the_same
        )
        held += any((entry.path, entry.line) in question.evidence for entry in filling.shown)
        used += filling.tokens + FRAME_TOKENS
    return held / len(answers), used / len(answers)


def show(name: str, answers: Answers) -> None:
    """A row of the table."""
    cells = [
        f"{held:7.3f} {used:5.0f}"
        for held, used in (measure(answers, tokens) for tokens in BUDGETS)
    ]
    print(f"{name:<20}" + "".join(cells), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    args = parser.parse_args()
    indexes = index_conversations(args.data)
    answers = [
        (question, ask(indexes[question.conversation], question.text, DEPTH))
        for question in read_questions(args.data)
    ]
    print(f"{'':<20}" + "".join(f"{tokens:>13}" for tokens in BUDGETS))
    show("as it is", answers)
    floor, exponent = parts.FLOOR, budget.COST_EXPONENT
    for parts.FLOOR in FLOORS:
        show(f"floor {parts.FLOOR}", answers)
    parts.FLOOR = floor
    for budget.COST_EXPONENT in EXPONENTS:
        show(f"cost exponent {budget.COST_EXPONENT}", answers)
    budget.COST_EXPONENT = exponent


if __name__ == "__main__":
    main()
