// Triangles: unpacked from the scene, or made here. A mesh has positions and normals, three corners a triangle.
const Shapes = (() => {
  const CREASE = Math.cos(0.7); // faces that meet at more than 40 degrees keep their edge

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out.buffer;
  }

  function unpack(packed) {
    const positions = new Int16Array(bytes(packed.positions));
    const faces = packed.wide ? new Uint32Array(bytes(packed.faces)) : new Uint16Array(bytes(packed.faces));
    const lower = [32767, 32767, 32767], upper = [-32767, -32767, -32767];
    positions.forEach((each, i) => {
      lower[i % 3] = Math.min(lower[i % 3], each);
      upper[i % 3] = Math.max(upper[i % 3], each);
    });
    return { ...packed, positions, faces, lower, upper };
  }

  // corners with normals that are smooth but across creases: positions (int16, 4 a corner), normals (int8, 4 a corner)
  function corners({ positions, faces }) {
    const count = faces.length / 3, vertices = positions.length / 3, normals = new Float32Array(faces.length);
    const starts = new Uint32Array(vertices + 1), areas = new Float32Array(count);
    for (let f = 0; f < count; f++) {
      const [a, b, c] = [3 * faces[3 * f], 3 * faces[3 * f + 1], 3 * faces[3 * f + 2]];
      const u = [0, 1, 2].map((i) => positions[b + i] - positions[a + i]), w = [0, 1, 2].map((i) => positions[c + i] - positions[a + i]);
      const n = Kinematics.cross(u, w), area = Math.hypot(...n) || 1;
      for (let i = 0; i < 3; i++) {
        normals[3 * f + i] = n[i] / area;
        starts[faces[3 * f + i] + 1]++;
      }
      areas[f] = area;
    }
    for (let v = 0; v < vertices; v++) starts[v + 1] += starts[v];
    const next = starts.slice(), around = new Uint32Array(faces.length);
    for (let k = 0; k < faces.length; k++) around[next[faces[k]]++] = Math.floor(k / 3);
    const outPositions = new Int16Array(4 * faces.length), outNormals = new Int8Array(4 * faces.length);
    for (let k = 0; k < faces.length; k++) {
      const f = 3 * Math.floor(k / 3), v = faces[k];
      let x = 0, y = 0, z = 0;
      for (let i = starts[v]; i < starts[v + 1]; i++) {
        const g = 3 * around[i];
        if (normals[f] * normals[g] + normals[f + 1] * normals[g + 1] + normals[f + 2] * normals[g + 2] < CREASE) continue;
        const area = areas[around[i]];
        x += area * normals[g];
        y += area * normals[g + 1];
        z += area * normals[g + 2];
      }
      const length = Math.hypot(x, y, z) || 1;
      outPositions.set([positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]], 4 * k);
      outNormals.set([(127 * x) / length, (127 * y) / length, (127 * z) / length], 4 * k);
    }
    return { positions: outPositions, normals: outNormals };
  }

  // surface of revolution about z: profile of [radius, z, normal radius, normal z], swept in `around` steps
  function swept(profile, around) {
    const positions = [], normals = [];
    const put = ([r, z, nr, nz], k) => {
      const angle = (2 * Math.PI * k) / around;
      positions.push(r * Math.cos(angle), r * Math.sin(angle), z);
      normals.push(nr * Math.cos(angle), nr * Math.sin(angle), nz);
    };
    for (let i = 0; i + 1 < profile.length; i++) {
      for (let k = 0; k < around; k++) {
        for (const [row, step] of [[i, k], [i, k + 1], [i + 1, k + 1], [i, k], [i + 1, k + 1], [i + 1, k]]) put(profile[row], step);
      }
    }
    return { positions: new Float32Array(positions), normals: new Float32Array(normals) };
  }

  const sphere = () => swept(Array.from({ length: 21 }, (_, i) => {
    const lift = (Math.PI * i) / 20 - Math.PI / 2, r = Math.cos(lift), z = Math.sin(lift);
    return [r, z, r, z];
  }), 32);
  const rod = () => swept([[0, 0, 0, -1], [1, 0, 0, -1], [1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 0, 1]], 16);
  // from 0 to 1 along z
  const arrow = () => swept([
    [0, 0, 0, -1], [0.018, 0, 0, -1], [0.018, 0, 1, 0], [0.018, 0.8, 1, 0], [0.018, 0.8, 0, -1], [0.055, 0.8, 0, -1],
    [0.055, 0.8, 0.96, 0.26], [0, 1, 0.96, 0.26],
  ], 20);

  // nearest hit of a ray with a shape, both in the shape's int16 coordinates: parameter along the ray, or Infinity
  function hit({ positions, faces }, origin, direction) {
    let best = Infinity;
    const [ox, oy, oz] = origin, [dx, dy, dz] = direction;
    for (let k = 0; k < faces.length; k += 3) {
      const a = 3 * faces[k], b = 3 * faces[k + 1], c = 3 * faces[k + 2];
      const ax = positions[a], ay = positions[a + 1], az = positions[a + 2];
      const ux = positions[b] - ax, uy = positions[b + 1] - ay, uz = positions[b + 2] - az;
      const vx = positions[c] - ax, vy = positions[c + 1] - ay, vz = positions[c + 2] - az;
      const px = dy * vz - dz * vy, py = dz * vx - dx * vz, pz = dx * vy - dy * vx;
      const det = ux * px + uy * py + uz * pz;
      if (det === 0) continue;
      const tx = ox - ax, ty = oy - ay, tz = oz - az, s = (tx * px + ty * py + tz * pz) / det;
      if (s < 0 || s > 1) continue;
      const qx = ty * uz - tz * uy, qy = tz * ux - tx * uz, qz = tx * uy - ty * ux;
      const r = (dx * qx + dy * qy + dz * qz) / det;
      if (r < 0 || s + r > 1) continue;
      const distance = (vx * qx + vy * qy + vz * qz) / det;
      if (distance > 0 && distance < best) best = distance;
    }
    return best;
  }

  return { bytes, unpack, corners, sphere, rod, arrow, hit };
})();
