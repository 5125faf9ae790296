"""Mistakes in what a model may name, in what a repair may change, and in limits of followers."""

from tools.mutant import Mutant

REACH = ("model/test_reach.py",)
MUTANTS = (
    Mutant(
        "links are not resolved before a file is judged",
        "model/references.py",
        "    real = Path(os.path.realpath(path))\n    return any(",
        "    real = Path(os.path.abspath(path))\n    return any(",
        REACH,
    ),
    Mutant(
        "a home folder under version control is a package",
        "model/references.py",
        ").is_relative_to(folder):  # noqa: PTH111\n        return False",
        ").is_relative_to(folder) and not folder.name:  # noqa: PTH111\n        return False",
        REACH,
    ),
    Mutant(
        "any folder of the name is a package",
        "model/references.py",
        "        and (_is_package(home) or is_inside(folders, home) or _around(home, here))\n",
        "",
        REACH,
    ),
    Mutant(
        "a package may be all of a disk",
        "model/references.py",
        "return here.is_relative_to(home) and home.parent != Path(home.anchor)",
        "return here.is_relative_to(home)",
        REACH,
    ),
    Mutant(
        "assets of included files are not looked at",
        "model/mjcf_limits.py",
        "    for document, root in seen.documents.items():\n        for element in root.iter(etree.Element):",
        "    for document, root in list(seen.documents.items())[:1]:\n        for element in root.iter(etree.Element):",
        REACH,
    ),
    Mutant(
        "asset folders are looked at in the main file alone",
        "model/mjcf_limits.py",
        '        for element in root.iter("compiler"):',
        '        for element in () if len(self.documents) > 1 else root.iter("compiler"):',
        REACH,
    ),
    Mutant(
        "sides of cubes are no files",
        "model/mjcf_limits.py",
        '                if name.startswith("file"):  # fileright and filename, too',
        '                if name == "file":',
        REACH,
    ),
    Mutant(
        "backslashes do not divide",
        "model/mjcf_limits.py",
        'plain = text.replace("\\\\", "/").split("://")[-1]',
        'plain = text.split("://")[-1]',
        REACH,
    ),
    Mutant(
        "names without their folders are not looked for",
        "model/mjcf_limits.py",
        'names = dict.fromkeys((text, plain, plain.rsplit("/", 1)[-1]))',
        "names = dict.fromkeys((text, plain))",
        REACH,
    ),
    Mutant(
        "MuJoCo is asked without a look at the files",
        "model/mjcf_compile.py",
        "    require_reach(path, folders)\n",
        "",
        REACH,
    ),
    Mutant(
        "includes outside are read for write-back",
        "model/mjcf_files.py",
        "if not is_inside(folders, target):",
        "if not target:",
        REACH,
    ),
    Mutant(
        "a repair repairs warnings, too",
        "check/catalog.py",
        'return lambda finding: finding.severity == "error"',
        'return lambda finding: finding.severity != "info"',
        ("check/test_fix.py",),
    ),
    Mutant(
        "one code repairs all of its part",
        "check/catalog.py",
        "return lambda finding: finding.code in codes",
        "return lambda finding: bool(codes)",
        ("check/test_fix.py",),
    ),
    Mutant(
        "a follower's offset has the other sign",
        "excite/limits.py",
        "(float(each[0]) - joint.offset) / joint.ratio",
        "(float(each[0]) + joint.offset) / joint.ratio",
        ("excite/test_followers.py",),
    ),
    Mutant(
        "a follower's speed is its master's",
        "excite/limits.py",
        "joint.velocity_limit[0] / abs(joint.ratio)",
        "joint.velocity_limit[0]",
        ("excite/test_followers.py",),
    ),
    Mutant(
        "a large limit is none on one side alone",
        "model/joint.py",
        "np.where(np.abs(limit) >= most, np.copysign(np.inf, limit), limit)",
        "np.where(limit >= most, np.inf, limit)",
        ("excite/test_followers.py",),
    ),
)
