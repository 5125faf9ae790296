"""Files of a USD stage: every layer is looked at before OpenUSD composes them, as composing opens whatever they name.

OpenUSD hangs on some damaged binary files and overflows its stack on deeply nested text. So text is measured first,
binary layers are read by a process of their own first, and the number of prims is bounded before they are composed.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.arguments import shown
from steelyard.errors import ModelError
from steelyard.extras import extra
from steelyard.model.document import opened_file
from steelyard.model.references import MOST_FILES, is_inside, remedy
from steelyard.model.xml import DEEPEST

TEXT, BINARY, PACKAGE = b"#usda", b"PXR-USDC", b"PK\x03\x04"
SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
LARGEST, MOST_PRIMS = 256 * 2**20, 50_000
SECONDS, MEMORY = 30.0, 8 * 2**30  # for reading binary layers
PROBE = f"""
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
except (ImportError, ValueError):
    pass
from pxr import Sdf
def visit(path):
    spec = layer.GetObjectAtPath(path)
    return spec and [spec.GetInfo(key) for key in spec.ListInfoKeys()]
for name in sys.argv[1:]:
    print(name, flush=True)
    layer = Sdf.Layer.OpenAsAnonymous(name)
    layer.Traverse(Sdf.Path.absoluteRootPath, visit)
print("read", flush=True)
"""
UNNEEDED = re.compile(rb'"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*', re.DOTALL)


@dataclass(frozen=True, eq=False)
class Layers:
    """What a stage is composed of."""

    opened: tuple[Any, ...]  # them, the root first; OpenUSD forgets those that nobody holds
    paths: dict[str, Path]  # identifier of each layer -> its file
    missing: tuple[str, ...]  # names of layers that are not there

    @property
    def root(self) -> Any:
        return self.opened[0]


def is_usd(path: Path) -> bool:
    """Whether a file starts as one of OpenUSD's formats does."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except (OSError, ValueError):
        return False
    return head.startswith((TEXT, BINARY)) or (head.startswith(PACKAGE) and path.suffix.lower() == ".usdz")


def is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(5) == TEXT


@contextmanager
def quiet() -> Iterator[Any]:
    """A context in which OpenUSD prints nothing, and raises ModelError in the place of its own errors."""
    with extra("Reading USD"):
        from pxr import Tf, UsdUtils
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield delegate
    except Tf.ErrorException as error:
        raise ModelError(_told(error)) from error
    finally:
        delegate.TakeUncoalescedDiagnostics()
        del delegate


def layers_of(path: Path, folders: tuple[Path, ...]) -> Layers:
    """Layers of a stage, opened, with those that they name. Raises ModelError for a file that is no USD or is damaged,
    a layer outside the folders, and more or deeper ones than a robot has."""
    with quiet(), opened_file(path, LARGEST):
        from pxr import Sdf

        found, missing = {}, []
        frontier = {str(path.absolute()): path}
        opened = []
        while frontier:
            _require_readable(path, frontier)
            named: dict[str, Path] = {}
            for identifier, file in frontier.items():
                layer = _opened(Sdf, identifier, path)
                opened.append(layer)
                found[identifier] = file
                for name in filter(None, layer.GetCompositionAssetDependencies()):  # "" is the layer itself
                    resolved = _resolved(layer, name, path, folders)
                    if resolved is None:
                        missing.append(name)
                    elif resolved[0] not in found:
                        named[resolved[0]] = resolved[1]
            frontier = named
            if len(found) + len(frontier) > MOST_FILES:
                raise ModelError(f"{path} names more than {MOST_FILES} layers. No robot needs that; it was not read.")
        return Layers(tuple(opened), found, tuple(dict.fromkeys(missing)))


def composed(layers: Layers, path: Path):
    """The `Usd.Stage` of layers, payloads loaded. path: of the root, for messages. Raises ModelError for more prims
    than a robot has, and what OpenUSD refuses."""
    with quiet():
        from pxr import Sdf, Usd

        if _Count(layers).count(layers.root.identifier, Sdf.Path.absoluteRootPath) > MOST_PRIMS:
            raise ModelError(
                f"{path} composes more than {MOST_PRIMS} prims. No robot needs that; it was not read. Save the robot "
                "in a file of its own."
            )
        stage = Usd.Stage.Open(layers.root, Usd.Stage.LoadAll)
        unchecked = [each.identifier for each in stage.GetUsedLayers() if not each.anonymous]
        strange = [each for each in unchecked if each not in layers.paths]
        if strange:
            raise ModelError(f"{path} opens the layer {shown(strange[0])}, which no reference of it names.")
        return stage


def _told(error: Exception | str) -> str:
    """An error of OpenUSD in its own words, without the place in its source."""
    try:
        text = str(error)
    except UnicodeDecodeError:  # it quotes the file
        return "it is not UTF-8 where OpenUSD stopped"
    plain = re.sub(r"Error in '[^']*' at line \d+ in file \S+ : |pxrInternal\S*", "", " ".join(text.split()))
    return plain.strip("' ")[:300]


def _require_readable(path: Path, frontier: dict[str, Path]):
    """Raise ModelError unless OpenUSD will read these layers. path: of the root, for messages."""
    binary = []
    for identifier, file in frontier.items():
        if not is_usd(file):
            raise ModelError(
                f"{file} is no USD layer: it starts with neither #usda nor PXR-USDC, nor is it a .usdz archive."
            )
        opened_file(file, LARGEST).close()
        state = file.stat()
        if is_text(file):
            if _depth(UNNEEDED.sub(b"", file.read_bytes())) > DEEPEST:
                raise ModelError(f"{file} nests more than {DEEPEST} levels deep. No robot needs that; it was not read.")
        else:
            binary.append((identifier, state.st_size, state.st_mtime_ns))
    if binary:
        _probe(tuple(binary))


def _depth(text: bytes) -> int:
    symbols = np.frombuffer(text, dtype=np.uint8)
    step = np.zeros(256, dtype=np.int64)
    for opening, closing in (b"{}", b"()", b"[]"):
        step[opening], step[closing] = 1, -1
    moves = step[symbols]
    return int(np.cumsum(moves[moves != 0]).max(initial=0))


@lru_cache(maxsize=64)  # a model is looked at several times on its way to a robot
def _probe(files: tuple[tuple[str, int, int], ...]):
    """Read binary layers (identifier, bytes, time) in a process of its own. Raises ModelError if it does not
    survive."""
    names = [identifier for identifier, _, _ in files]
    command = [sys.executable, "-c", PROBE, *names]
    try:
        run = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        said, why = run.stdout, _told(run.stderr.decode(errors="replace").strip().rpartition("\n")[2])
    except subprocess.TimeoutExpired as error:
        said, why = error.stdout or b"", f"OpenUSD was not done after {SECONDS:.0f} s"
    lines = said.decode(errors="replace").split("\n")
    if "read" not in lines:
        culprit = next((each for each in reversed(lines) if each), names[0])
        raise ModelError(f"{culprit} is damaged: OpenUSD cannot read it ({why[:200] or 'its process ended'}).")


def _opened(Sdf, identifier: str, path: Path):
    try:
        layer = Sdf.Layer.FindOrOpen(identifier)
        if layer is not None and not layer.dirty:
            layer.Reload()  # the file may be another by now
    except Exception as error:
        if type(error).__module__ != "pxr.Tf":
            raise
        raise ModelError(f"{identifier}: {_told(error)}") from error
    if layer is None:
        raise ModelError(f"{identifier}, a layer of {path}, is damaged: OpenUSD cannot read it.")
    return layer


def _resolved(layer, name: str, path: Path, folders) -> tuple[str, Path] | None:
    """Identifier and file of a layer that another names; None where it is not there. Raises ModelError for one that
    must not be opened."""
    from pxr import Ar, Sdf

    if name.startswith("`"):
        raise ModelError(f"{path} names a layer by an expression ({shown(name)}), which is not read. Name it itself.")
    plain, _ = Sdf.Layer.SplitIdentifier(name)
    if not plain or "://" in plain:
        return None
    identifier = layer.ComputeAbsolutePath(plain)
    file = Path(Ar.SplitPackageRelativePathOuter(identifier)[0] if Ar.IsPackageRelativePath(identifier) else identifier)
    if not is_inside(folders, file):
        raise ModelError(
            f"{path}: layer {shown(name)} lies outside the model's folder ({folders[0].name}); the file was not "
            f"opened. {remedy(file)}"
        )
    try:
        there = file.is_file() and file.suffix.lower() in SUFFIXES
    except (OSError, ValueError):
        there = False
    return (identifier, file) if there else None


class _Count:
    """An upper bound of the prims that layers compose, by the specs that each prim and each arc brings."""

    def __init__(self, layers: Layers):
        from pxr import Sdf

        self.Sdf = Sdf
        self.layers = layers
        self.known: dict[tuple[str, Any], int] = {}

    @cache  # noqa: B019  the counter lives as long as one reading
    def stack(self, identifier: str) -> tuple:
        """A layer with its sublayers."""
        found, names = [], [identifier]
        for name in names:
            layer = self.Sdf.Layer.Find(name)
            if layer is not None:
                found.append(layer)
                absolute = [layer.ComputeAbsolutePath(each) for each in layer.subLayerPaths]
                names += [each for each in absolute if each not in names]
        return tuple(found)

    def count(self, identifier: str, path) -> int:
        """Prims at and below a path of a layer with its sublayers."""
        key = identifier, path
        if key in self.known:
            return self.known[key]
        if path.pathElementCount > DEEPEST:
            return MOST_PRIMS + 1
        self.known[key] = total = 1  # of a circle
        for child in dict.fromkeys(self._brought(identifier, path)):
            total += self.count(*child)
            if total > MOST_PRIMS:
                break
        self.known[key] = total
        return total

    def _brought(self, identifier: str, path) -> Iterator[tuple[str, Any]]:
        """Prims that specs of one bring: its children, those of its variants, and what it refers to."""
        for layer in self.stack(identifier):
            root = path == self.Sdf.Path.absoluteRootPath
            spec = layer.pseudoRoot if root else layer.GetPrimAtPath(path)
            if spec is None:
                continue
            for child in spec.nameChildren:
                yield identifier, child.path
            if root:
                continue
            for sets in spec.variantSets:
                for variant in sets.variants:
                    yield identifier, variant.primSpec.path
            for arcs in (spec.referenceList, spec.payloadList):
                for arc in arcs.GetAddedOrExplicitItems():
                    yield from self._target(identifier, layer, arc.assetPath, arc.primPath)
            for arcs in (spec.inheritPathList, spec.specializesList):
                for target in arcs.GetAddedOrExplicitItems():
                    yield from self._target(identifier, layer, "", target)

    def _target(self, identifier: str, layer, asset: str, path) -> Iterator[tuple[str, Any]]:
        if asset:
            identifier = layer.ComputeAbsolutePath(self.Sdf.Layer.SplitIdentifier(asset)[0])
        stack = self.stack(identifier)
        if not stack:
            return
        if path.isEmpty:
            name = stack[0].defaultPrim
            path = self.Sdf.Path.absoluteRootPath.AppendPath(self.Sdf.Path(name.lstrip("/") or "."))
        while path.pathElementCount > 1 and not any(each.GetPrimAtPath(path) for each in stack):
            path = path.GetParentPath()  # what an arc of that one brings
        yield identifier, path
