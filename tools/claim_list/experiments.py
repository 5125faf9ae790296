"""Claims about motions that are designed."""

from tools.claim import Claim, Figure

ROBOTS = ("Panda, 7 joints", "UR10, 6 joints", "Go2 on a stand, 12 joints", "G1 upper body, 31 joints")
STUDY = "excitation_robots"
CLAIMS = (
    Claim(
        "excitation",
        "arms, a quadruped on a stand, a humanoid's upper body: inside every limit in MuJoCo, and better than random "
        "motions and sinusoids that are as safe",
        ("excite/test_design.py", "excite/test_optimiser.py"),
        (
            *(
                Figure(what, STUDY, tuple(f"{robot}: designed" for robot in ROBOTS), f"{what} %", "%", most=0)
                for what in ("limits", "collisions")
            ),
            *(
                Figure(
                    f"base error, {kind}",
                    STUDY,
                    tuple(f"{robot}: {kind}" for robot in ROBOTS),
                    "base error, least squares",
                )
                for kind in ("designed", "random, safe", "sinusoids, safe")
            ),
        ),
        ("docs/excitation.md",),
        limits="random motions that may collide predict torques better on three of the four",
    ),
    Claim(
        "excitation",
        "errors fall as predicted over a sequence of designs, within 20 %",
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
            "excite/test_design.py::test_a_joint_without_range_is_named",
        ),
    ),
    Claim(
        "excitation",
        "ten times fewer samples than safe random motion for the same covariance",
        figures=tuple(
            Figure(f"{robot}, times fewer", "excitation", (f"{robot}, D", f"{robot}, A"), "kept D", least=10)
            for robot in ("UR10", "Panda")
        ),
        pages=("docs/excitation.md",),
        short="five to ten on a Panda, nine to eleven on a UR10, three to five where random motions may collide",
    ),
    Claim(
        "excitation",
        "an arm's motion in 10 s, with a condition number at least as good as other tools'",
        figures=(
            Figure("time", STUDY, tuple(f"{robot}: designed" for robot in ROBOTS[:2]), "design s", "s", most=10),
            Figure("time beside random", "excitation", ("UR10, D", "UR10, A", "Panda, D", "Panda, A"), "s", "s"),
            *(
                Figure(f"condition, {who}", "excitation", ("UR10, script", "Panda, script"), column)
                for who, column in (("ours", "condition"), ("a script's", "script condition"))
            ),
            Figure("a script's time over ours", "excitation", ("UR10, script", "Panda, script"), "time ratio", least=1),
        ),
        pages=("docs/excitation.md",),
        short="15 to 31 s for the designs of the comparison with random motions, 80 s for a humanoid; log-determinants "
        "of other tools were not compared",
    ),
)
