"""The page of mutants: how many of each package the tests kill, and which live and why."""

from collections import Counter

from tools.mutant import Mutant

HEAD = """\
# Mutants

Small mistakes put into the source on purpose, one at a time: a factor, a sign in a rare branch, a comparison, an index,
a unit, a clip or a check that is left out. A mutant is killed when a test fails; one that lives is a mistake that
nothing would notice. The list is `tools/mutant_list`, with the tests that are expected to see each; a mutant lives only
after all tests of its package have passed. `make mutants` runs those that were not judged yet and writes this page.

"""
COLUMNS = ("mutants", "killed", "alive", "not judged")


def page(judged: list[tuple[Mutant, dict | None]]) -> str:
    """Markdown of all mutants with the outcome of each, None where it was not run."""
    of_all, by_package = Counter(), {}
    for mutant, row in judged:
        state = _state(row)
        for counts in (of_all, by_package.setdefault(mutant.package, Counter())):
            counts.update(["mutants", state])
    lines = ["| package | " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * len(COLUMNS)]
    for name, counts in [*sorted(by_package.items()), ("all", of_all)]:
        lines.append(f"| {name} | " + " | ".join(str(counts[column]) for column in COLUMNS) + " |")
    living = [mutant for mutant, row in judged if _state(row) == "alive"]
    if living:
        lines += ["", "## Alive", "", "| mutant | file | why |", "|---|---|---|"]
        lines += [f"| {each.name} | `{each.file}` | {each.alive or 'no test yet'} |" for each in living]
    return HEAD + "\n".join([*lines, ""])


def _state(row: dict | None) -> str:
    """One of COLUMNS: a mutant is alive once all tests of its package have passed."""
    if row and row["killed"]:
        return "killed"
    return "alive" if row and row["wide"] else "not judged"
