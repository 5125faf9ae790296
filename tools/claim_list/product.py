"""Claims about reports and fleets."""

from tools.claim import Claim, Figure

STEADY = ("friction varies by 0% between runs", "friction varies by 1% between runs")
CLAIMS = (
    Claim(
        "report",
        "drawn in a browser without errors or network, on phones, accessible",
        ("report/test_browser.py", "view/test_drawn.py"),
        pages=("docs/report.md",),
    ),
    Claim(
        "report",
        "the first screen answers four questions: better, by how much, usable, what is unknown",
        ("report/test_page.py::test_the_verdict_comes_first_and_answers_four_questions",),
        pages=("docs/report.md",),
    ),
    Claim(
        "report",
        "summary, page and terminal agree number for number, by a published schema",
        ("report/test_agreement.py", "report/test_schema.py"),
    ),
    Claim("report", "commands of README and pages run", ("test_readme.py", "docs/test_examples_of_pages.py")),
    Claim(
        "report",
        "hostile names are text",
        (
            "report/test_page.py::test_hostile_names_are_text",
            "report/test_browser.py::test_hostile_names_are_shown_as_they_are",
        ),
    ),
    Claim(
        "report",
        "a million samples of 35 joints in 3 s and 8 MB",
        figures=(
            Figure("time", "report", ("all",), "s", "s", most=3),
            Figure("page", "report", ("all",), "MB", "MB", most=8),
        ),
    ),
    Claim(
        "scale",
        "killed workers and clients lose nothing; results are those of one process",
        ("fleet/test_accumulate.py",),
        (
            Figure("difference", "fleet", ("Dask, 2 workers", "killed and resumed"), "difference", most=1e-10),
            Figure("efficiency of two workers over one", "fleet", ("Dask, 2 workers",), "efficiency"),
            Figure("partitions kept", "fleet", ("killed and resumed",), "kept"),
            Figure("computed again", "fleet", ("killed and resumed",), "computed"),
        ),
        ("docs/scale.md",),
        limits="3 GB of 1,000 runs were summed under load; efficiency was measured on a tenth of them",
    ),
    Claim("scale", "poisoned inputs end in a table of reasons", ("fleet/test_poisoned.py",)),
    Claim(
        "scale",
        "wear and payload changes are found at their robots and weeks, at a stated rate of false alarms",
        ("fleet/test_study.py", "fleet/test_statistics.py"),
        (
            *(
                Figure(f"share of fleets where {what} is named", "fleet_changes", STEADY, f"{what}: named", least=0.9)
                for what in (
                    "robot 3, friction of joint2",
                    "robot 5, load of link6",
                    "robot 7, friction of joint3",
                )
            ),
            Figure("fleets of 25 with a false alarm", "fleet_changes", STEADY, "fleets with a false alarm"),
        ),
        ("docs/fleet.md",),
        limits="where friction varies by 3 % between runs, wear of the weaker joints goes unnoticed in most fleets",
    ),
    Claim(
        "scale",
        "10,000 payload problems a second",
        ("payload/test_batch.py",),
        (
            Figure("a second", "batch", ("batch (native)",), "problems / s", least=1e4),
            Figure("times a cone solver in a loop", "batch", ("cone solver in a loop",), "time, batch = 1"),
        ),
    ),
    Claim(
        "scale",
        "sums and batched fits on a GPU",
        ("information/test_device.py::test_on_a_gpu",),
        short="never run on a GPU: none was available, so no crossover is stated",
    ),
)
