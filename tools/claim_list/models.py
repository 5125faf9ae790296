"""Claims about the pipeline, single bodies, the linter, what can be identified, derivatives and loops."""

from tools.claim import Claim, Figure

ARMS = ("panda", "xarm7", "go2", "g1_29dof_rev_1_0")
CLAIMS = (
    Claim(
        "pipeline",
        "the demo repairs a wrong PUMA 560 model, says what it wrote, and ends near the truth",
        ("test_demo.py",),
    ),
    Claim(
        "pipeline",
        "regressor and torques agree with Pinocchio to 1e-10 (every example URDF, fixed and floating) and with MuJoCo "
        "to 1e-9 (MJCF models, every joint type, armature)",
        ("reference/test_pinocchio.py", "reference/test_mujoco.py"),
        pages=("docs/evidence/conformance.md",),
    ),
    Claim(
        "pipeline",
        "measured logs: Panda below 3 % held out, TX40 below 15 % without coupling, physical links that others load",
        (
            "reference/test_real_logs.py::test_panda_held_out_error",
            "reference/test_real_logs.py::test_tx40_blocked_cross_validation",
        ),
        pages=("docs/how_to_choose.md",),
        limits="errors are of torques filtered like the motion; on unfiltered Panda torques 3.6 %",
    ),
    Claim(
        "pipeline",
        "simulated logs: recovery to 1e-6 without noise, prediction as good as the truth's with noise",
        ("test_simulate.py", "fit/test_fits.py::test_noise_free_recovery"),
        pages=("docs/evidence/conformance.md",),
    ),
    Claim(
        "pipeline",
        "an identified URDF differs from the given one in the declared elements only",
        ("model/test_save_urdf.py::test_nothing_but_the_declared_elements_differs",),
    ),
    Claim(
        "pipeline",
        "bad models and logs end in a message; the output folder stays",
        ("test_cli.py", "log/test_checks.py"),
    ),
    Claim(
        "one body", "charts of inertia: round trips, Jacobians, the determinant of paper A", ("inertia/test_charts.py",)
    ),
    Claim(
        "one body",
        "realizability: clouds in ellipsoids, four masses, nested sets, projections as good as cvxpy's to 1e-6",
        ("inertia/test_certificate.py", "inertia/test_realizability.py"),
        limits="objectives agree to 1e-6, arguments to the accuracy of cvxpy's own (3e-4)",
    ),
    Claim(
        "one body",
        "inertia of meshes against trimesh and closed forms, with derivatives",
        ("inertia/test_mesh.py",),
        limits="the measured tools are point clouds, so their hulls are compared",
    ),
    Claim("one body", "figures of paper B are drawn", ("examples/test_realizability_figures.py",)),
    Claim(
        "one body",
        "bodies and meshes that cannot be end in a message with the remedy",
        ("inertia/test_mesh.py", "inertia/test_ellipsoid.py"),
    ),
    Claim(
        "one body",
        "a million bodies through a chart and its Jacobian, a mesh of a million faces and its derivatives, in a moment",
        figures=(
            Figure("chart and Jacobian", "inertia_charts", ("log_cholesky",), "both", "s", most=1.5),
            Figure("mesh", "mesh_inertia", ("",), "parameters", "s", most=0.15),
            Figure("all vertex derivatives", "mesh_inertia", ("",), "vertex derivatives", "s", most=1.0),
            Figure("trimesh's time over ours", "mesh_inertia", ("",), "ratio"),
        ),
    ),
    Claim(
        "linter",
        "findings on real models are true: no rule has more than 5 % false alarms",
        ("check/test_real_models.py",),
        (
            Figure(
                "false alarms of a rule",
                "False alarms, rule by rule",
                (),
                "share",
                "%",
                most=5,
                page="docs/evidence/check_findings.md",
            ),
        ),
        limits="limits of three rules were chosen on the models that false alarms are counted on",
    ),
    Claim("linter", "broken models are found by code and line, repaired, and load", ("check/test_corpus.py",)),
    Claim(
        "linter",
        "1,000 links are checked in under two seconds",
        figures=(Figure("time", "check", ("",), "seconds", "s", most=2),),
    ),
    Claim("linter", "hostile files end in one message, quickly", ("check/test_hostile.py",)),
    Claim(
        "identifiability",
        "published tables of PUMA, SCARA and Cheetah leg; the locked-torso experiment",
        ("identifiability/test_published_tables.py", "identifiability/test_examples.py"),
        limits="symbols are derived a second time from Pinocchio's reduced regressor; printed cells were not at hand",
    ),
    Claim(
        "identifiability",
        "count, null space and regrouping on every example robot and 300 random trees",
        ("identifiability/test_example_robots.py", "identifiability/test_random_trees.py"),
        pages=("docs/evidence/conformance.md",),
        limits="to the letter of the file (tolerance=0); by default four files with bent axes count less, and say so",
    ),
    Claim(
        "identifiability",
        "nearly degenerate geometry keeps its count on both sides of the tolerance",
        ("identifiability/test_tolerance.py",),
    ),
    Claim("identifiability", "explanations in words, checked by hand", ("identifiability/test_words.py",)),
    Claim(
        "identifiability",
        "loops, missing joints and unknown names are refused by name",
        ("identifiability/test_experiments.py",),
    ),
    Claim(
        "identifiability",
        "time grows with the number of links only: 1,000 in a second, every example robot in 50 ms",
        figures=(
            Figure("1,000 links", "identifiability", ("chain 1000",), "seconds", "s", most=1),
            Figure("10,000 links", "identifiability", ("chain 10000",), "seconds", "s"),
            Figure("slowest robot", "identifiability", ("example robots",), "most", "ms", most=50, times=1e3),
        ),
    ),
    Claim(
        "derivatives",
        "torque derivatives against automatic differentiation, on random trees, and against Pinocchio",
        ("dynamics/test_derivatives.py",),
    ),
    Claim(
        "derivatives",
        "all torque derivatives in less than ten inverse dynamics; those of q, v, a within twice Pinocchio's time",
        figures=(
            Figure("inverse dynamics, kernel", "derivatives", ARMS, "calls", most=10),
            Figure("inverse dynamics, NumPy", "derivatives", ARMS, "calls NumPy", most=10),
            Figure("q, v, a over Pinocchio", "derivatives", ARMS, "q, v, a over Pinocchio", most=2),
        ),
        short="with NumPy alone, all derivatives take more than ten inverse dynamics",
    ),
    Claim(
        "loops",
        "five-bar torques and derivatives against MuJoCo and JAX; singular poses by name",
        ("dynamics/test_closed_loop.py", "dynamics/test_closure.py"),
    ),
    Claim(
        "loops",
        "axis errors of a degree are found with the inertias; the residual halves",
        ("calibration/test_calibrate.py", "examples/test_calibrate_axes.py"),
    ),
    Claim("loops", "a four-bar leg from its two motors", ("identifiability/test_closed.py", "test_loop_jobs.py")),
    Claim(
        "loops",
        "loops that cannot close and wrong choices are explained",
        ("dynamics/test_closure.py::test_out_of_reach_and_wrong_choices",),
    ),
)
