"""Mutants by package, and all tests that may see one of a package."""

from tools.mutant_list import fit, information, log, payload

MUTANTS = (*information.MUTANTS, *log.MUTANTS, *fit.MUTANTS, *payload.MUTANTS)

# every test of a package: its folder, and loose files that go through it
WIDE = {
    "fit": ("fit", "test_identify.py", "test_known_of_a_job.py"),
    "information": ("information", "test_loop_jobs.py", "test_motors_of_a_job.py", "test_coupling.py"),
    "log": ("log", "inspect", "test_clipped.py"),
    "payload": ("payload", "test_cli_payload.py"),
}
