"""Computes answers apart from the engine, and writes docs/validation/answers.md; `make answers` runs it.

python -m benchmarks.answers             # compute both numbers of every case, write the page
python -m benchmarks.answers --render    # write the page again from the numbers of the last run
python -m benchmarks.answers --strict    # end with 1 where a number is beyond its tolerance
"""

import argparse
from collections.abc import Sequence

from benchmarks.answers import airtime, ceilings, equations, flows, links, marks, page, return_path, twins
from benchmarks.answers.case import Answer, Topic, ask
from benchmarks.common import load, save, say, write_page

TOPICS: tuple[Topic, ...] = tuple(
    topic
    for module in (links, ceilings, flows, return_path, marks, airtime, equations, twins)
    for topic in module.TOPICS
)


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Write docs/validation/answers.md.")
    parser.add_argument("--render", action="store_true", help="only write the page, from the numbers of the last run")
    parser.add_argument("--strict", action="store_true", help="end with 1 where a number is beyond its tolerance")
    arguments = parser.parse_args()
    if not arguments.render:
        save("answers", page.document({topic.title: ask_all(topic) for topic in TOPICS}))
    found = load("answers")
    write_page("validation/answers", page.render(TOPICS, found))
    wrong = [f"{title}: {row['case']}" for title, rows in found.items() for row in rows if not row["holds"]]
    for line in wrong:
        print(f"beyond its tolerance: {line}")
    return 1 if wrong and arguments.strict else 0


def ask_all(topic: Topic) -> Sequence[Answer]:
    """Compute both numbers of a topic's cases."""
    answers = []
    for case in topic.cases:
        answer = ask(case)
        say(f"{topic.title}: {case.name}: {answer.found:.6g}, right {answer.right:.6g}{'' if answer.holds else ' NO'}")
        answers.append(answer)
    return answers


if __name__ == "__main__":
    raise SystemExit(main())
