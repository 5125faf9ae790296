"""The page of mutants: how many of each package the tests kill, and which live and why."""

from collections import Counter

from tools.mutant import Mutant

HEAD = """\
# Mutants

Small mistakes put into the source on purpose, one at a time: a factor, a sign in a rare branch, a comparison, an index,
a unit, a clip or a check that is left out. A mutant is killed when a test fails; one that lives is a mistake that
nothing would notice. The list is `tools/mutant_list`, with the tests that are expected to see each; a mutant lives only
after all tests of its package have passed. `make mutants` runs them and writes this page.

"""


def page(judged: list[tuple[Mutant, dict]]) -> str:
    """Markdown of all mutants with the outcome of each."""
    made = Counter(mutant.package for mutant, _ in judged)
    living = [mutant for mutant, row in judged if not row["killed"]]
    left = Counter(mutant.package for mutant in living)
    lines = ["| package | mutants | alive |", "|---|--:|--:|"]
    lines += [f"| {package} | {made[package]} | {left[package]} |" for package in sorted(made)]
    lines += [f"| all | {len(judged)} | {len(living)} |", ""]
    if living:
        lines += ["## Alive", "", "| mutant | file | why |", "|---|---|---|"]
        lines += [f"| {each.name} | `{each.file}` | {each.alive or 'no test yet'} |" for each in living]
        lines += [""]
    return HEAD + "\n".join(lines)
