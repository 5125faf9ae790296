"""Pictures of a robot without a screen: its shapes on free-standing bodies in MuJoCo, placed by our own kinematics."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

import numpy as np

from steelyard.dynamics.kinematics import motion as tree_motion
from steelyard.errors import DrawingError
from steelyard.inertia.rotation import to_quaternion
from steelyard.model import Robot
from steelyard.model.mjcf_compile import captured_warnings
from steelyard.model.robot import WORLD
from steelyard.viewer.looks import looks
from steelyard.viewer.shape import Part, Shape
from steelyard.viewer.simplify import within_budget

TRIANGLES = 60_000
PLAIN = (0.72, 0.75, 0.79, 1.0)
FEWEST = 4  # vertices of a mesh that MuJoCo takes


@contextmanager
def stage(robot: Robot, q, *, width: int, height: int) -> Iterator[Callable]:
    """A function of one pose (nq,) that returns its picture (height, width, 3) in bytes.

    q: (n, nq) poses that have to fit into the picture. Raises DrawingError where nothing can be drawn.
    """
    import mujoco

    p = body_poses(robot, q)[1]
    try:
        model = _model(robot, width, height)
    except ValueError as error:
        raise DrawingError(f"MuJoCo cannot draw robot '{robot.name}': {error}") from error
    data = mujoco.MjData(model)
    camera = _camera(p, _reach(model))
    with _offscreen(width, height) as context:
        try:
            gpu = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except mujoco.FatalError as error:
            raise DrawingError(_without_gl(error)) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, gpu)
        scene, option = mujoco.MjvScene(model, maxgeom=20_000), mujoco.MjvOption()
        whole = mujoco.MjrRect(0, 0, width, height)

        def picture(pose) -> np.ndarray:
            context.make_current()
            R, p = body_poses(robot, pose[None])
            data.mocap_pos[:], data.mocap_quat[:] = p[0], np.roll(to_quaternion(R[0]), 1, axis=-1)
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            pert = mujoco.MjvPerturb()
            mujoco.mjv_updateScene(model, data, option, pert, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
            mujoco.mjr_render(whole, scene, gpu)
            pixels = np.empty((height, width, 3), dtype=np.uint8)
            mujoco.mjr_readPixels(pixels, None, whole, gpu)
            return pixels[::-1]

        try:
            yield picture
        finally:
            gpu.free()


def body_poses(robot: Robot, q) -> tuple[np.ndarray, np.ndarray]:
    """R (n, nb, 3, 3), p (n, nb, 3) of the bodies in the world. q: (n, nq)."""
    q = np.ascontiguousarray(np.asarray(q, dtype=float).T)
    still = np.zeros((robot.nv, q.shape[1]))
    state = tree_motion(robot, q, still, still)
    return np.moveaxis(np.asarray(state.rotation), -1, 0), np.moveaxis(np.asarray(state.position), -1, 0)


@captured_warnings()
def _model(robot: Robot, width: int, height: int):
    """MuJoCo model with one mocap body a body of the robot, in order."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.45] * 3, [0.5] * 3
    sky = spec.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=64, height=384)
    sky.builtin, sky.rgb1, sky.rgb2 = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, [0.96, 0.97, 0.98], [0.8, 0.84, 0.88]
    spec.worldbody.add_light(pos=[2, -2, 4], dir=[-0.4, 0.4, -1], diffuse=[0.4] * 3, castshadow=False)
    bodies = [spec.worldbody.add_body(name=f"body{i}", mocap=True) for i in range(robot.nb)]
    seen = looks(robot)
    shapes = within_budget(seen.shapes, TRIANGLES)
    links = {link.name: link for link in robot.links}
    role = "visual" if any(part.role == "visual" for part in seen.parts) else "collision"
    meshes: dict[int, list] = {}
    for part in seen.parts:
        if part.role != role or part.link not in links:
            continue
        if part.shape not in meshes:
            meshes[part.shape] = list(_meshes(spec, shapes[part.shape], part.shape))
        link = links[part.link]
        host = spec.worldbody if link.body == WORLD else bodies[link.body]
        _add_geoms(host, part, link, meshes[part.shape])
    for i, body in enumerate(bodies):
        if not body.geoms and robot.inertias[i, 0] > 0:
            center = robot.inertias[i, 1:4] / robot.inertias[i, 0]
            _add_ball(body, center)
    return spec.compile()


def _meshes(spec, shape: Shape, index: int):
    """Names and colours of the meshes of a shape, one a colour."""
    import mujoco

    colors = np.zeros((len(shape.faces), 4), dtype=np.uint8) if shape.colors is None else shape.colors
    different, group = np.unique(colors, axis=0, return_inverse=True)
    for k, color in enumerate(different):
        used, faces = np.unique(shape.faces[group.reshape(-1) == k], return_inverse=True)
        if len(used) < FEWEST:
            continue
        mesh = spec.add_mesh(name=f"mesh{index}_{k}", inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
        mesh.uservert, mesh.userface = shape.vertices[used].ravel(), faces.ravel().astype(np.int32)
        yield mesh.name, None if shape.colors is None else tuple(color / 255)


def _add_geoms(host, part: Part, link, meshes):
    import mujoco

    R, p = link.rotation @ part.rotation, link.rotation @ part.position + link.position
    for name, color in meshes:
        host.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=name,
            pos=p,
            quat=np.roll(to_quaternion(R), 1),
            rgba=part.color or color or PLAIN,
            contype=0,
            conaffinity=0,
        )


def _add_ball(body, center):
    """Where nothing is shown of a body: a ball at its centre of mass."""
    import mujoco

    sizes = {"size": [0.03, 0, 0], "rgba": PLAIN, "contype": 0, "conaffinity": 0}
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=center, **sizes)


def _reach(model) -> float:
    """Largest distance of a body's geometry from its frame, m."""
    return float((np.linalg.norm(model.geom_pos, axis=1) + model.geom_rbound).max(initial=0.05))


def _camera(p, reach: float):
    """A view on all poses. p (n, nb, 3): of the bodies, m."""
    import mujoco

    lower, upper = p.min(axis=(0, 1)), p.max(axis=(0, 1))
    camera = mujoco.MjvCamera()
    camera.lookat = (lower + upper) / 2
    camera.distance = float(np.linalg.norm(upper - lower)) + 1.2 * min(reach, 0.5)
    camera.azimuth, camera.elevation = -137.0, -18.0
    return camera


@contextmanager
def _offscreen(width: int, height: int):
    """A current OpenGL context without a window: EGL, or what MuJoCo chooses on this platform."""
    import mujoco

    made, said = None, ""
    for module in ("mujoco.egl", "mujoco"):
        try:
            made = import_module(module).GLContext(width, height)
            made.make_current()
            break
        except (ImportError, AttributeError, OSError, RuntimeError, TypeError, mujoco.FatalError) as error:
            said = str(error)
    if made is None:
        raise DrawingError(_without_gl(said))
    try:
        yield made
    finally:
        made.free()


def _without_gl(said) -> str:
    return f"no OpenGL without a screen ({str(said).strip() or 'none found'}); install libegl1 or libosmesa6"
