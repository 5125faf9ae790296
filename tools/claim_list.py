"""What the project claims to be able to do, with the tests, examples and benchmarks that prove it.

Short words of our own; the topic says which part of the library a claim is about.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """says: the claim. tests: files or `file::test` under tests/, run as proof. tables: pages that hold its figures.

    short: what falls short of the claim, known and explained; empty when all of it holds.
    """

    topic: str
    says: str
    tests: tuple[str, ...]
    tables: tuple[str, ...] = ()
    short: str = ""


RESULTS = "benchmarks/RESULTS.md"
CLAIMS = (
    Claim("pipeline", "the demo repairs a wrong PUMA 560 model and says what it wrote", ("test_demo.py",)),
    Claim(
        "pipeline",
        "regressor and torques agree with Pinocchio (1e-10, every example URDF, fixed and floating) and with MuJoCo "
        "(1e-9, 21 MJCF models, every joint type)",
        ("reference/test_pinocchio.py", "reference/test_mujoco.py"),
        ("docs/conformance.md",),
    ),
    Claim(
        "pipeline",
        "measured logs: Panda below 3 % held out, TX40 below 15 % without coupling, physical links that others load",
        (
            "reference/test_real_logs.py::test_panda_held_out_error",
            "reference/test_real_logs.py::test_tx40_blocked_cross_validation",
        ),
        ("docs/how_to_choose.md",),
        "errors are of torques filtered like the motion; on unfiltered Panda torques 3.6 %",
    ),
    Claim(
        "pipeline",
        "simulated logs: exact recovery without noise, prediction as good as the truth's with noise",
        ("test_simulate.py", "fit/test_fits.py::test_noise_free_recovery"),
        ("docs/conformance.md",),
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
        "realizability: clouds in ellipsoids, four masses, nested sets, projections against cvxpy",
        ("inertia/test_certificate.py", "inertia/test_realizability.py"),
        (),
        "objectives agree to 1e-6, arguments to the accuracy of cvxpy's own (3e-4)",
    ),
    Claim(
        "one body",
        "inertia of meshes against trimesh and closed forms, with derivatives",
        ("inertia/test_mesh.py",),
        (RESULTS,),
        "the measured tools are point clouds, so their hulls are compared",
    ),
    Claim("one body", "figures of paper B are drawn", ("examples/test_realizability_figures.py",)),
    Claim(
        "one body",
        "bodies and meshes that cannot be end in a message with the remedy",
        ("inertia/test_mesh.py", "inertia/test_ellipsoid.py"),
    ),
    Claim(
        "linter",
        "findings on real models are true",
        ("check/test_real_models.py",),
        ("docs/check_findings.md",),
        "limits of three rules were chosen on the models that false alarms are counted on",
    ),
    Claim("linter", "broken models are found by code and line, repaired, and load", ("check/test_corpus.py",)),
    Claim("linter", "1,000 links in under two seconds", (), (RESULTS,)),
    Claim("linter", "hostile files end in one message, quickly", ("check/test_hostile.py",)),
    Claim(
        "identifiability",
        "published tables of PUMA, SCARA and Cheetah leg; the locked-torso experiment",
        ("identifiability/test_published_tables.py", "identifiability/test_examples.py"),
        (),
        "symbols are derived a second time from Pinocchio's reduced regressor; the printed cells were not at hand",
    ),
    Claim(
        "identifiability",
        "count, null space and regrouping on every example robot and 300 random trees",
        ("identifiability/test_example_robots.py", "identifiability/test_random_trees.py"),
        ("docs/conformance.md",),
        "to the letter of the file (tolerance=0); by default four files with bent axes count less, and say so",
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
        "information",
        "sums beside Pinocchio, mujoco-sysid and iDynTree: times, memory, share of the peak, import",
        (),
        (RESULTS,),
        "import 0.39 s, aimed for 0.3; NumPy alone 5 to 10 us a sample on an arm, aimed for 1.6",
    ),
    Claim(
        "information",
        "a stream runs in constant memory",
        ("information/test_streaming.py",),
        (RESULTS, "docs/information.md"),
    ),
    Claim(
        "information",
        "kernel, NumPy, JAX and QR agree; Pinocchio, MuJoCo and automatic differentiation confirm them",
        ("information/test_agreement.py", "information/test_rotors.py", "dynamics/test_balances.py"),
        (),
        "the tests take a part of the robots, for compile time; the GPU path has its own test that skips without one",
    ),
    Claim(
        "information",
        "TX40 with a coupled wrist: rank 61, 9.5 %",
        ("reference/test_real_logs.py::test_tx40_coupled_wrist",),
    ),
    Claim(
        "information",
        "momentum identifies the noisy PUMA better than accelerations",
        ("information/test_momentum_wins.py",),
        ("docs/information.md",),
        "14 of 15 cells better, one 0.4 % worse",
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
        "95 % intervals cover 92 to 98 %",
        ("fit/test_uncertainty.py", "fit/test_sandwich.py"),
        ("docs/uncertainty.md",),
        "of all parameters together; single ones 91.2 to 98.4 % of 500, within chance; a long study, by name",
    ),
    Claim(
        "fit",
        "deliberate faults are diagnosed by name",
        ("diagnose/test_faults.py",),
        ("docs/diagnosis.md",),
        "not found: one wrist joint late on UR10 and Panda, and a scale where a joint feels friction only",
    ),
    Claim(
        "fit", "every estimator on four measured robots", ("reference/test_real_logs.py",), ("docs/how_to_choose.md",)
    ),
    Claim(
        "payload",
        "published study of payloads: the order of methods, and a default that beats them",
        ("payload/test_methods.py::test_our_default_beats_the_published_table", "examples/test_payload_examples.py"),
        ("docs/payload.md",),
        "magnitudes differ: the paper does not give object, wrist and pose noise in full",
    ),
    Claim(
        "payload",
        "five tools: exact without noise; better than published methods with noise",
        ("payload/test_tools_data.py", "payload/test_checks.py::test_the_trap_of_the_tools_data"),
        ("docs/payload.md",),
        "one tool's stored mass is rounded to 5e-6; point masses lose to least squares in mass (1.3 against 0.91 %)",
    ),
    Claim(
        "payload",
        "what static poses show, and stop-and-go",
        (
            "payload/test_methods.py::test_static_poses_show_mass_and_centre",
            "payload/test_methods.py::test_stop_and_go",
        ),
    ),
    Claim("payload", "a payload from joint torques alone", ("payload/test_torques.py",)),
    Claim("payload", "pick, hold, swap and drop in one stream", ("payload/test_online.py",)),
    Claim(
        "payload",
        "mistakes of axes, signs, shapes and sensors are named",
        ("payload/test_checks.py", "payload/test_shape.py", "payload/test_wrench_log.py"),
    ),
    Claim(
        "derivatives",
        "against automatic differentiation and Pinocchio on random trees",
        ("dynamics/test_derivatives.py",),
        (RESULTS,),
    ),
    Claim(
        "loops",
        "five-bar torques and derivatives against MuJoCo and JAX; singular poses by name",
        ("dynamics/test_closed_loop.py", "dynamics/test_closure.py"),
    ),
    Claim(
        "loops",
        "axis errors of a degree are found with the inertias",
        ("calibration/test_calibrate.py", "examples/test_calibrate_axes.py"),
    ),
    Claim("loops", "a four-bar leg from its two motors", ("identifiability/test_closed.py", "test_loop_jobs.py")),
    Claim(
        "loops",
        "loops that cannot close and wrong choices are explained",
        ("dynamics/test_closure.py::test_out_of_reach_and_wrong_choices",),
    ),
    Claim(
        "excitation",
        "motions of real arms, inside every limit in MuJoCo, better than random and sinusoids",
        ("excite/test_design.py", "excite/test_optimiser.py"),
        (RESULTS, "docs/excitation.md"),
    ),
    Claim(
        "excitation",
        "errors fall as predicted over a sequence of designs",
        ("excite/test_design.py::test_errors_are_as_predicted_and_fall_as_predicted",),
    ),
    Claim(
        "excitation",
        "what a motion shows, in words, and what would be needed",
        ("excite/test_design.py::test_a_missed_target_is_explained",),
    ),
    Claim(
        "excitation",
        "impossible experiments are refused with the remedy",
        (
            "excite/test_design.py::test_what_cannot_be_is_refused_with_a_remedy",
            "excite/test_design.py::test_a_start_in_collision_names_the_bodies",
        ),
    ),
    Claim(
        "logs",
        "every format round-trips; damaged files end in a message",
        ("log/test_formats.py", "log/test_recordings.py", "log/test_lerobot.py"),
    ),
    Claim(
        "logs",
        "injected faults of logs are named, and the suggested fix restores the error",
        ("diagnose/test_log_faults.py", "test_corrections.py"),
        ("docs/logs.md",),
        "to 1.5 times the clean log's error but for the rows in bold, or with a reason, of the table there",
    ),
    Claim(
        "logs",
        "filters have the response they state",
        ("log/test_filters.py", "log/test_smoothers.py", "log/test_decimate.py"),
    ),
    Claim(
        "logs",
        "what is found in four measured logs",
        ("reference/test_inspected_logs.py",),
        ("docs/inspect/README.md",),
    ),
    Claim(
        "logs",
        "the automatic cutoff is within 10 % of the best",
        (
            "inspect/test_inspect.py::test_identification_error_is_within_ten_percent_of_the_best_cutoffs",
            "inspect/test_inspect.py::test_cutoff_has_the_least_expected_error",
            "inspect/test_inspect.py::test_other_smoothers_have_their_own_best_cutoff",
        ),
        (),
        "on the logs of the tests; in wider trials up to 13 % above (Butterworth) and 30 % (Savitzky-Golay)",
    ),
    Claim(
        "report",
        "drawn in a browser without errors or network, on phones, accessible",
        ("report/test_browser.py", "view/test_drawn.py"),
        ("docs/report.md",),
    ),
    Claim(
        "report",
        "the first screen answers four questions",
        ("report/test_page.py::test_the_verdict_comes_first_and_answers_four_questions",),
        ("docs/report.md",),
    ),
    Claim(
        "report",
        "summary, page and terminal agree number for number, by a published schema",
        ("report/test_agreement.py", "report/test_schema.py"),
    ),
    Claim("report", "commands of README and pages run", ("test_readme.py",)),
    Claim(
        "report",
        "large logs, many joints and hostile names",
        (
            "report/test_page.py::test_hostile_names_are_text",
            "report/test_browser.py::test_hostile_names_are_shown_as_they_are",
        ),
        (RESULTS,),
    ),
    Claim(
        "scale",
        "killed workers and clients lose nothing; results are those of one process",
        ("fleet/test_accumulate.py",),
        ("docs/scale.md",),
    ),
    Claim("scale", "poisoned inputs end in a table of reasons", ("fleet/test_poisoned.py",)),
    Claim(
        "scale",
        "wear and payload changes are found at their robots and weeks",
        ("fleet/test_study.py", "fleet/test_statistics.py"),
        ("docs/fleet.md",),
    ),
    Claim(
        "scale",
        "10,000 payload problems a second: 62,000, 91 times a cone solver in a loop",
        ("payload/test_batch.py",),
        (RESULTS,),
    ),
    Claim(
        "one body",
        "a million bodies through the log-Cholesky chart and its Jacobian in 0.37 s (aim 1.5), a mesh of a million "
        "faces in 0.04 s (0.15), all its vertex derivatives in 0.38 s (1)",
        (),
        (RESULTS,),
    ),
    Claim("linter", "no rule has more than 5 % false alarms: 3.1 % at most", (), ("docs/check_findings.md",)),
    Claim(
        "identifiability",
        "linear time: 1,000 links 0.14 s, 10,000 links 1.5 s; the slowest example robot 23 ms",
        (),
        (RESULTS,),
    ),
    Claim(
        "fit",
        "paper B's job from arrays to certified parameters in 30 ms: 9.7 ms with the kernel",
        (),
        (RESULTS,),
        "NumPy alone takes 45 ms",
    ),
    Claim(
        "payload",
        "point masses in 1 ms (56 points) and 50 ms (10,000): 1.1 and 8.1 ms; online updates "
        "within 200 us: 39 us at 99.9 %",
        (),
        (RESULTS,),
        "the small problem took 1.1 ms on a busy machine; with squared norms 0.33 ms",
    ),
    Claim(
        "derivatives",
        "all torque derivatives in 10 inverse dynamics (2.7 to 3.5), q, v, a within 2 of Pinocchio's time (0.7 to 1.1)",
        (),
        (RESULTS,),
        "12 to 14 inverse dynamics with NumPy alone",
    ),
    Claim(
        "excitation",
        "ten times fewer samples than random motion for the same covariance: 9.4 to 11 on a UR10",
        (),
        (RESULTS, "docs/excitation.md"),
        "5.1 to 9.9 on a Panda, 3 to 5 where random motions may collide; a humanoid takes 80 s of processor time",
    ),
    Claim(
        "logs",
        "read, check and sum at 150 MB/s (NPZ 171, Parquet 162); recordings ten times a loop over messages (9.5 to 71)",
        (),
        (RESULTS,),
        "bags in SQLite 9.5 times",
    ),
    Claim("report", "a million samples of 35 joints in 3 s and 8 MB: 2.2 s, 4.3 MB", (), (RESULTS,)),
    Claim(
        "scale",
        "3 GB of 1,000 runs: two workers make the sums of one process, difference 0",
        (),
        (RESULTS, "docs/scale.md"),
        "efficiency of two workers over one 0.81, measured on a tenth; the 3 GB were timed under load",
    ),
    Claim(
        "scale",
        "sums and batched fits on a GPU",
        ("information/test_device.py::test_on_a_gpu",),
        (),
        "never run on a GPU: none was available, so no crossover is stated",
    ),
)
