"""Mutants by package, and all tests that may see one of a package."""

from tools.mutant_list import edges, fit, information, log, motions, payload, product, robots, runs

MUTANTS = tuple(
    mutant
    for module in (robots, log, information, fit, payload, motions, edges, runs, product)
    for mutant in module.MUTANTS
)

# every test of a package: its folder, and loose files that go through it
WIDE = {
    "calibration": ("calibration",),
    "check": ("check",),
    "cli": ("cli", "test_cli.py", "test_cli_payload.py", "test_cli_mesh.py", "report/test_judged.py"),
    "diagnose": ("diagnose", "inspect"),
    "dynamics": ("dynamics", "reference", "information/test_kinds.py", "information/test_extra_columns.py"),
    "excite": ("excite",),
    "fit": ("fit", "test_identify.py", "test_known_of_a_job.py"),
    "fleet": ("fleet",),
    "identifiable": ("identifiability",),
    "inertia": ("inertia",),
    "information": ("information", "test_loop_jobs.py", "test_motors_of_a_job.py", "test_coupling.py"),
    "inspect": ("inspect", "reference/test_inspected_logs.py"),
    "log": ("log", "inspect", "test_clipped.py"),
    "loose": (
        "test_identify.py",
        "test_simulate.py",
        "test_validate.py",
        "test_clipped.py",
        "test_corrections.py",
        "test_compensated.py",
        "test_known_of_a_job.py",
        "test_loop_jobs.py",
        "test_motors_of_a_job.py",
        "report/test_summary.py",
    ),
    "model": ("model", "reference", "metamorphic"),
    "payload": ("payload", "test_cli_payload.py"),
    "report": ("report",),
    "view": ("view",),
}
