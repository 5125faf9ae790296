// Poses of a joint tree. A pose is an array of 12, [R | p] of a frame in its parent in row order; a vector is an array
// of 3. What a joint is, and the order of its coordinates, is in the scene: steelyard.model.joint.
const Kinematics = (() => {
  const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

  function compose(a, b) {
    const out = new Array(12);
    for (let i = 0; i < 12; i += 4) {
      for (let j = 0; j < 4; j++) out[i + j] = a[i] * b[j] + a[i + 1] * b[4 + j] + a[i + 2] * b[8 + j];
      out[i + 3] += a[i + 3];
    }
    return out;
  }

  const apply = (a, u) => [0, 4, 8].map((i) => a[i] * u[0] + a[i + 1] * u[1] + a[i + 2] * u[2] + a[i + 3]);
  const turn = (a, u) => [0, 4, 8].map((i) => a[i] * u[0] + a[i + 1] * u[1] + a[i + 2] * u[2]);

  // rotation by `angle` about a unit vector (none for the zero vector), and a position
  function about([x, y, z], angle, p) {
    const s = Math.sin(angle), c = 1 - Math.cos(angle);
    return [
      1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y, p[0],
      c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x, p[1],
      c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y), p[2],
    ];
  }

  // exponential of the twist [v; w] q: |w| is 1 (rotation, also with pitch) or 0 (translation)
  function screw(twist, q) {
    const v = twist.slice(0, 3), w = twist.slice(3), s = Math.sin(q), c = 1 - Math.cos(q);
    const wv = cross(w, v), wwv = cross(w, wv);
    return about(w, q, v.map((each, i) => each * q + wv[i] * c + wwv[i] * (q - s)));
  }

  function quaternionRotation(quaternion) {
    const norm = Math.hypot(...quaternion) || 1;
    const [x, y, z, w] = quaternion.map((each) => each / norm);
    return [
      1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 0,
      2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 0,
      2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), 0,
    ];
  }

  // pose of a joint's child in the frame at zero: slides, then turns, then the rotation of a quaternion about its anchor
  function moved(joint, q) {
    const plain = joint.slides + joint.angles;
    let pose = IDENTITY;
    for (let i = 0; i < plain; i++) pose = compose(pose, screw(joint.subspace[i], q[i]));
    if (joint.count === plain) return pose;
    const [a, b] = joint.subspace.slice(-3); // linear rows hold skew(anchor), which stays where it is
    const anchor = [b[2], -a[2], a[1]], R = quaternionRotation(q.slice(plain)), turned = turn(R, anchor);
    [R[3], R[7], R[11]] = anchor.map((each, i) => each - turned[i]);
    return compose(pose, R);
  }

  // world pose of every joint's child frame; joints: of the scene, parents first; q: all coordinates
  function worldPoses(joints, q) {
    const poses = [];
    for (const joint of joints) {
      const own = Array.from(q.slice(joint.start, joint.start + joint.count));
      if (joint.count === 1) own[0] = joint.ratio * own[0] + joint.offset; // of its master
      const above = joint.parent < 0 ? IDENTITY : poses[joint.parent];
      poses.push(compose(above, compose(joint.frame, moved(joint, own))));
    }
    return poses;
  }

  // the line a joint turns about or slides along, in its child frame; null for joints with several degrees
  function axisOf(joint) {
    if (joint.count > 1) return null;
    const v = joint.subspace[0].slice(0, 3), w = joint.subspace[0].slice(3);
    return joint.slides ? { point: [0, 0, 0], direction: v } : { point: cross(w, v), direction: w };
  }

  function quaternionFromRpy([roll, pitch, yaw]) {
    const [cr, cp, cy] = [roll, pitch, yaw].map((each) => Math.cos(each / 2));
    const [sr, sp, sy] = [roll, pitch, yaw].map((each) => Math.sin(each / 2));
    return [
      sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
      cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy,
    ];
  }

  function rpyFromQuaternion(quaternion) {
    const R = quaternionRotation(quaternion), level = Math.hypot(R[0], R[4]);
    if (level < 1e-9) return [0, Math.atan2(-R[8], level), Math.atan2(-R[1], R[5])];
    return [Math.atan2(R[9], R[10]), Math.atan2(-R[8], level), Math.atan2(R[4], R[0])];
  }

  return { IDENTITY, cross, compose, apply, turn, worldPoses, axisOf, quaternionFromRpy, rpyFromQuaternion };
})();
