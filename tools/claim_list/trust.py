"""Claims about what holds everywhere: conformance, peers, damage, packaging."""

from tools.claim import Claim, Figure

STAGES = ("regressor", "identifiability", "identification", "urdf", "mjcf", "check")
JOBS = ("UR10 simulated", "Panda simulated", "panda measured", "ur10 measured", "tx40 measured")
TOOLS = ("Pinocchio + cvxpy", "FIGAROH", "mujoco.sysid")
PEERS = tuple(f"{job}, {tool}" for job in JOBS for tool in TOOLS)
CLAIMS = (
    Claim(
        "trust",
        "every model of the test packages goes through regressor, identifiability, identification, both formats, check",
        ("conformance/test_conformance.py",),
        tuple(Figure(f"{stage}: pass", "", (stage,), "pass", page="docs/evidence/conformance.md") for stage in STAGES),
        ("docs/evidence/conformance.md",),
        short="not every robot passes every stage; the page lists each with its reason",
    ),
    Claim(
        "trust",
        "the same job by other tools takes longer and predicts no better",
        figures=(
            Figure("their time over ours", "peer_jobs", PEERS, "again / ours", least=1),
            Figure("first call", "peer_jobs", PEERS, "first call / ours", least=1),
            Figure("their held-out error over ours", "peer_jobs", PEERS, "error / ours", least=1),
            Figure("their distance from the truth over ours", "peer_jobs", PEERS[:6], "distance / ours", least=1),
        ),
        pages=("docs/comparison.md",),
        short="first calls of a Pinocchio script are faster on most logs; on the measured UR10 the script and FIGAROH "
        "predict better, FIGAROH with six negative coefficients of friction or armature",
    ),
    Claim(
        "trust",
        "every parser is fuzzed: inputs are read, or refused with a message; findings stay in the tests",
        ("fuzzing/test_findings.py",),
        (
            Figure("executions", "Figures", ("all",), "executions", page="docs/evidence/fuzzing.md"),
            Figure("findings, repaired", "Figures", ("all",), "findings", page="docs/evidence/fuzzing.md"),
        ),
        ("docs/evidence/fuzzing.md",),
    ),
    Claim(
        "trust",
        "units, frames, order of links, direction of time and of joints, sums and unions: predictions transform along",
        ("metamorphic/test_relations.py", "metamorphic/test_drawn.py", "metamorphic/test_files.py"),
    ),
    Claim(
        "trust",
        "killed runs, full disks, plain locales and two runs in one folder leave whole results or none; the same bytes "
        "whatever the number of threads",
        (
            "robustness/test_outputs.py",
            "robustness/test_runs.py",
            "robustness/test_stops.py",
            "robustness/test_same_bytes.py",
            "robustness/test_places.py",
        ),
        pages=("docs/evidence/robustness.md",),
    ),
    Claim("trust", "dependencies are used, and listed with their licences", ("test_dependencies.py",)),
    Claim("trust", "pages and their pictures are those of the code", ("docs/test_pages.py",)),
    Claim(
        "trust",
        "the wheel in an empty environment of every supported Python runs the README",
        pages=("docs/install.md",),
        limits="shown by `make package`, which is run by hand",
    ),
    Claim(
        "trust",
        "a fresh copy sets itself up and ends the demo in two minutes",
        pages=("docs/tutorial.md",),
        limits="shown by `make demo`, which is run by hand",
    ),
)
