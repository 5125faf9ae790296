"""Claims about information, fits and payloads."""

from tools.claim import Claim, Figure

INTERVALS = "Do the intervals hold?"
NOISES = ("white", "AR(1), 0.9", "AR(1), 0.95", "AR(1), 0.98")
ROBUST = "reversals count less, consistent"
CLAIMS = (
    Claim(
        "information",
        "regressors and their sums are faster than every peer's loop: 12 times on an arm, 8 times on a humanoid",
        figures=(
            *(
                Figure(
                    f"Pinocchio with Gram over our kernel, {robot}",
                    "regressor",
                    ("Pinocchio with Gram / sums kernel",),
                    robot,
                    least=least,
                )
                for robot, least in (("panda", 12), ("g1_29dof_rev_1_0", 8))
            ),
            Figure("share of the processor's peak, g1", "regressor", ("fraction of peak",), "g1_29dof_rev_1_0"),
            Figure("sums by NumPy alone, panda", "regressor", ("sums NumPy, us",), "panda", "us a sample", most=1.9),
        ),
        short="NumPy alone does not reach the time of a sample that a prototype had on another machine",
    ),
    Claim(
        "information",
        "a million samples of an arm in the memory of the inputs and 50 MB",
        ("information/test_streaming.py",),
        (Figure("growth", "streaming", ("panda, numpy", "panda, native"), "growth MB", "MB", most=50),),
        ("docs/information.md",),
    ),
    Claim(
        "information",
        "`import steelyard` within 0.3 s",
        ("test_public_names.py",),
        (
            Figure("import", "start", ("import steelyard",), "seconds", "s", most=0.3),
            Figure("with every public name", "start", ("import steelyard, every public name",), "seconds", "s"),
        ),
        limits="names are loaded on first use, which then costs what is left",
    ),
    Claim(
        "information",
        "kernel, NumPy, JAX and QR agree; Pinocchio, MuJoCo and automatic differentiation confirm them",
        ("information/test_agreement.py", "information/test_rotors.py", "dynamics/test_balances.py"),
        limits="the tests take a part of the robots, for compile time",
    ),
    Claim(
        "information",
        "TX40 with a coupled wrist: rank 61, at most 9.5 %",
        ("reference/test_real_logs.py::test_tx40_coupled_wrist",),
    ),
    Claim(
        "information",
        "momentum identifies the noisy PUMA better than accelerations",
        ("information/test_momentum_wins.py",),
        pages=("docs/information.md",),
        limits="14 of 15 cells better, one 0.4 % worse",
    ),
    Claim(
        "information",
        "mismatches, gaps and interruptions are named and lose nothing",
        ("information/test_sums.py", "information/test_streaming.py"),
    ),
    Claim(
        "fit",
        "paper B's leg: tighter sets learn faster; the optimum is cvxpy's",
        ("examples/test_paper_b_leg.py", "fit/test_constraints.py"),
    ),
    Claim(
        "fit",
        "every fit carries a certificate, on rank-deficient data too",
        (
            "fit/test_fits.py::test_every_consistent_fit_is_certified",
            "fit/test_constraints.py::test_rank_deficient_data_is_certified_too",
        ),
    ),
    Claim(
        "fit",
        "95 % intervals cover 92 to 98 %, with white and with correlated noise",
        ("fit/test_uncertainty.py", "fit/test_sandwich.py"),
        (
            *(
                Figure(says, INTERVALS, NOISES, column, "%", least=92, most=98, page="docs/uncertainty.md")
                for says, column in (
                    ("base parameters", "base parameters"),
                    ("data-determined", "data-determined parameters of the constrained fit"),
                )
            ),
            Figure("single ones", INTERVALS, NOISES, "worst and best of the 58", "%", page="docs/uncertainty.md"),
        ),
        limits="of all parameters together; single ones vary by chance over the repetitions",
    ),
    Claim(
        "fit",
        "deliberate faults are diagnosed by name",
        ("diagnose/test_faults.py",),
        pages=("docs/diagnosis.md",),
        short="not found: one wrist joint late on UR10 and Panda, and a scale where a joint feels friction only",
    ),
    Claim(
        "fit",
        "every estimator on four measured robots; the KUKA's model class is called wrong",
        ("reference/test_real_logs.py",),
        tuple(
            Figure(f"{robot}, held out", "Measured", (ROBUST,), robot, "%", page="docs/how_to_choose.md")
            for robot in ("Panda", "UR10", "TX40", "KUKA")
        ),
    ),
    Claim(
        "fit",
        "consistent fits with ellipsoids, friction and rotors in 10 ms for an arm, 150 ms for a humanoid; paper B's "
        "job from arrays to certified parameters in 30 ms",
        figures=(
            Figure("leg, arm", "consistent", ("Cheetah 3 leg, 3 rotors", "PUMA 560, 6 rotors"), "fit", "ms", most=10),
            Figure("humanoid", "consistent", ("G1, 30 bodies, no rotors",), "fit", "ms", most=150),
            Figure("paper B's job", "consistent", ("paper B's job, fused kernel",), "all", "ms", most=30),
            Figure("with NumPy alone", "consistent", ("paper B's job, NumPy",), "all", "ms", most=30),
            Figure("by hand", "consistent", ("by hand, Pinocchio and CVXPY",), "all", "ms"),
        ),
        short="paper B's job takes longer than 30 ms with NumPy alone",
    ),
    Claim(
        "payload",
        "published study of payloads: the order of methods, their magnitudes, and a default that beats them",
        ("payload/test_methods.py::test_our_default_beats_the_published_table", "examples/test_payload_examples.py"),
        tuple(
            Figure(f"{part} of the default", "payload", ("density",), f"{part} 1.5 rad/s [%]", "%", most=most)
            for part, most in (("mass", 1.77), ("centre", 15.5), ("inertia", 43.5))
        ),
        ("docs/payload.md",),
        short="the published methods' magnitudes differ: the paper does not give object, wrist and pose noise in full",
    ),
    Claim(
        "payload",
        "five tools: exact without noise; with noise, better than the published methods in all three errors",
        ("payload/test_tools_data.py", "payload/test_checks.py::test_the_trap_of_the_tools_data"),
        pages=("docs/payload.md",),
        short="one tool's stored mass is rounded to 5e-6; point masses lose to least squares in mass (1.3, 0.91 %)",
    ),
    Claim(
        "payload",
        "static poses show mass and centre, and say so; stop-and-go to 0.1 %",
        (
            "payload/test_methods.py::test_static_poses_show_mass_and_centre",
            "payload/test_methods.py::test_stop_and_go",
        ),
    ),
    Claim(
        "payload",
        "a payload from joint torques alone: mass within 2 %, centre within 5 mm, intervals cover",
        ("payload/test_torques.py",),
    ),
    Claim("payload", "pick, hold, swap and drop in one stream", ("payload/test_online.py",)),
    Claim(
        "payload",
        "mistakes of axes, signs, shapes and sensors are named",
        ("payload/test_checks.py", "payload/test_shape.py", "payload/test_wrench_log.py"),
    ),
    Claim(
        "payload",
        "point masses in 1 ms (56 points) and 50 ms (10,000); online updates within 200 us",
        figures=(
            Figure("56 points", "payload", ("PMD, 150 samples, 56 points",), "time [ms]", "ms", most=1),
            Figure("squared norms", "payload", ("PMD squared, 150 samples, 56 points",), "time [ms]", "ms", most=1),
            Figure("10,000 points", "payload", ("PMD, 150 samples, 10000 points",), "time [ms]", "ms", most=50),
            Figure(
                "update, 99.9 %", "payload", ("online update, 99.9 % (wall)",), "time [ms]", "us", most=200, times=1e3
            ),
        ),
        short="the small problem with norms as published takes a little more than 1 ms",
    ),
)
