// What is drawn of a scene at one q: meshes, and overlays for masses, axes and frames.
const COLORS = {
  plain: [0.72, 0.75, 0.79, 1],
  collision: [0.85, 0.55, 0.25, 1],
  given: [0.835, 0.369, 0, 1],
  identified: [0, 0.447, 0.698, 1],
  axis: [0.45, 0.2, 0.6, 1],
  x: [0.84, 0.2, 0.2, 1],
  y: [0.15, 0.6, 0.25, 1],
  z: [0.15, 0.35, 0.85, 1],
  bone: [0.4, 0.45, 0.52, 1],
};

const LOOSE = 0.1; // of the robot's size: semi-axis beyond which a region is drawn for a chosen link only

class Picture {
  constructor(scene) {
    this.scene = scene;
    this.shapes = scene.shapes.map(Shapes.unpack);
    const poses = Kinematics.worldPoses(scene.joints, scene.q);
    this.box = this.boxOf(poses);
    const sides = this.box.lower.map((each, i) => this.box.upper[i] - each);
    this.size = Math.max(Math.hypot(...sides), 1e-3);
    this.ground = {
      center: this.box.lower.map((each, i) => (each + this.box.upper[i]) / 2),
      height: this.box.lower[2],
      radius: 2.2 * this.size,
      cell: 10 ** Math.floor(Math.log10(this.size / 3)),
    };
  }

  poseOf(poses, joint) {
    return joint < 0 ? Kinematics.IDENTITY : poses[joint];
  }

  boxOf(poses) {
    const lower = [Infinity, Infinity, Infinity], upper = [-Infinity, -Infinity, -Infinity];
    const take = (point) => point.forEach((each, i) => {
      lower[i] = Math.min(lower[i], each);
      upper[i] = Math.max(upper[i], each);
    });
    for (const part of this.scene.parts) {
      const shape = this.shapes[part.shape], place = Kinematics.compose(this.poseOf(poses, part.joint), part.frame);
      for (let k = 0; k < 8; k++) {
        const end = (i) => ((k >> i) & 1 ? shape.upper : shape.lower)[i];
        const corner = shape.center.map((each, i) => each + shape.scale * end(i));
        take(Kinematics.apply(place, corner));
      }
    }
    for (const pose of poses) take([pose[3], pose[7], pose[11]]);
    for (const { joint, given } of this.scene.bodies) {
      if (given.com) take(Kinematics.apply(this.poseOf(poses, joint), given.com));
    }
    return poses.length ? { lower, upper } : { lower: [-0.5, -0.5, -0.5], upper: [0.5, 0.5, 0.5] };
  }

  // hand the shapes over to a renderer; again after its context was lost
  attach(renderer) {
    this.renderer = renderer;
  }

  // collision shapes stand in where a body has nothing to look at
  isShown(part, show) {
    return show[part.role] || (part.bare && show.visual);
  }

  items(poses, show, selected) {
    const found = [];
    this.scene.parts.forEach((part) => {
      if (!this.isShown(part, show)) return;
      const place = Kinematics.compose(this.poseOf(poses, part.joint), part.frame);
      const shape = this.shapes[part.shape], mesh = this.renderer.meshes[part.shape];
      let first = 0;
      for (const { count, color } of shape.groups) {
        const own = part.role === "collision" ? COLORS.collision : part.color ?? color ?? COLORS.plain;
        found.push({
          mesh, first, count, gloss: 0.12, color: part.body === selected && selected >= 0 ? tinted(own) : own,
          ...placed(place, shape.center, [shape.scale, 0, 0, 0, shape.scale, 0, 0, 0, shape.scale]),
        });
        first += count;
      }
    });
    return found;
  }

  overlays(poses, show, enlarge, selected) {
    const found = [];
    this.scene.bodies.forEach((body, i) => {
      const pose = this.poseOf(poses, body.joint);
      for (const which of ["given", "identified"]) {
        const mass = body[which];
        if (!show[which] || !mass) continue;
        this.addMass(found, pose, mass, COLORS[which], show);
        if (show.regions && mass.region && (i === selected || !this.isLoose(mass))) {
          this.addRegion(found, pose, mass, COLORS[which], enlarge);
        }
      }
    });
    this.scene.joints.forEach((joint, i) => {
      if (show.axes) this.addAxis(found, poses[i], joint);
      if (show.skeleton) this.addBone(found, this.poseOf(poses, joint.parent), poses[i], joint.parent < 0);
    });
    if (show.frames) {
      for (const body of this.scene.bodies) this.addFrame(found, this.poseOf(poses, body.joint));
      this.addFrame(found, Kinematics.IDENTITY);
    }
    return found;
  }

  // whether a centre of mass can be so far off that its region would only hide the robot
  isLoose(mass) {
    return longest(mass.region) > LOOSE * this.size;
  }

  addRegion(found, pose, mass, color, enlarge) {
    const axes = thickened(mass.region.map((each) => each * enlarge), 1e-4 * this.size);
    const pale = [...color.slice(0, 3), 0.6];
    found.push({ mesh: this.renderer.sphere, gloss: 0.1, glass: 1, color: pale, ...placed(pose, mass.com, axes) });
  }

  addMass(found, pose, mass, color, show) {
    if (!mass.com) return;
    const { sphere } = this.renderer;
    if (show.ellipsoids && mass.ellipsoid) {
      const pale = [...color.slice(0, 3), 0.4];
      found.push({ mesh: sphere, gloss: 0.08, glass: 1, color: pale, ...placed(pose, mass.com, mass.ellipsoid) });
    }
    if (show.centers) {
      const r = 0.007 * this.size;
      found.push({ mesh: sphere, gloss: 0.3, color, ...placed(pose, mass.com, [r, 0, 0, 0, r, 0, 0, 0, r]) });
    }
  }

  addAxis(found, pose, joint) {
    const axis = Kinematics.axisOf(joint);
    if (!axis) return;
    const length = 0.14 * this.size, start = axis.point.map((each, i) => each - 0.5 * length * axis.direction[i]);
    const stretched = along(axis.direction, length, length);
    found.push({ mesh: this.renderer.arrow, gloss: 0.1, color: COLORS.axis, ...placed(pose, start, stretched) });
  }

  addFrame(found, pose) {
    const length = 0.09 * this.size;
    [["x", [1, 0, 0]], ["y", [0, 1, 0]], ["z", [0, 0, 1]]].forEach(([name, direction]) => {
      const stretched = along(direction, length, length);
      found.push({ mesh: this.renderer.arrow, gloss: 0.1, color: COLORS[name], ...placed(pose, [0, 0, 0], stretched) });
    });
  }

  addBone(found, from, to, atBase) {
    const start = [from[3], from[7], from[11]], step = [to[3], to[7], to[11]].map((each, i) => each - start[i]);
    const length = Math.hypot(...step), r = 0.006 * this.size, ball = 0.012 * this.size;
    found.push({
      mesh: this.renderer.sphere, gloss: 0.1, color: COLORS.bone,
      ...placed(Kinematics.IDENTITY, [to[3], to[7], to[11]], [ball, 0, 0, 0, ball, 0, 0, 0, ball]),
    });
    if (length < 1e-9 || (atBase && length > 2 * this.size)) return;
    found.push({
      mesh: this.renderer.rod, gloss: 0.1, color: COLORS.bone,
      ...placed(Kinematics.IDENTITY, start, along(step.map((each) => each / length), length, r)),
    });
  }

  // the body under a ray from `eye`, -1 for none
  bodyAt(poses, show, eye, ray) {
    let best = Infinity, body = -1;
    for (const part of this.scene.parts) {
      if (!this.isShown(part, show)) continue;
      const shape = this.shapes[part.shape], place = Kinematics.compose(this.poseOf(poses, part.joint), part.frame);
      const back = (u) => [0, 1, 2].map((i) => place[i] * u[0] + place[4 + i] * u[1] + place[8 + i] * u[2]);
      const from = back([eye[0] - place[3], eye[1] - place[7], eye[2] - place[11]]);
      const start = from.map((each, i) => (each - shape.center[i]) / shape.scale);
      const distance = Shapes.hit(shape, start, back(ray).map((each) => each / shape.scale));
      if (distance < best) [best, body] = [distance, part.body];
    }
    return body;
  }
}

// model matrix (16, column order) and normal matrix (9) of a mesh scaled by the columns of `axes` (9, row order, at
// right angles), moved to `center` and carried by a pose
function placed(pose, center, axes) {
  const p = Kinematics.apply(pose, center), matrix = new Float32Array(16), turned = new Float32Array(9);
  for (let j = 0; j < 3; j++) {
    const axis = [axes[j], axes[3 + j], axes[6 + j]], moved = Kinematics.turn(pose, axis);
    const square = axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2 || 1;
    for (let i = 0; i < 3; i++) {
      matrix[4 * j + i] = moved[i];
      turned[3 * j + i] = moved[i] / square;
    }
  }
  matrix.set([...p, 1], 12);
  const largest = Math.max(...turned.map(Math.abs)) || 1;
  return { matrix, turned: turned.map((each) => each / largest) };
}

// axes (9, row order) that stretch a mesh along z to `direction`, `width` across
function along(direction, length, width) {
  const helper = Math.abs(direction[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  let x = Kinematics.cross(helper, direction);
  x = x.map((each) => each / Math.hypot(...x));
  const y = Kinematics.cross(direction, x);
  return [0, 1, 2].flatMap((i) => [width * x[i], width * y[i], length * direction[i]]);
}

const longest = (axes) => Math.max(...[0, 1, 2].map((j) => Math.hypot(axes[j], axes[3 + j], axes[6 + j])));

function thickened(axes, least) {
  return [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => {
    const length = Math.hypot(axes[j], axes[3 + j], axes[6 + j]);
    return length >= least ? axes[3 * i + j] : length > 0 ? (axes[3 * i + j] * least) / length : i === j ? least : 0;
  }));
}

const tinted = (color) => [0.45 * color[0] + 0.1, 0.45 * color[1] + 0.42, 0.45 * color[2] + 0.3, color[3]];
