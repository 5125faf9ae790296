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

  // corners with normals that are smooth but across creases, each once: positions (int16, 4 a corner), normals (int8,
  // 4 a corner), and the corners of every face
  function corners({ positions, faces }) {
    const { normals, areas } = faceNormals(positions, faces);
    const { starts, around } = facesAround(faces, positions.length / 3);
    const outPositions = [], outNormals = [], index = new Uint32Array(faces.length);
    const last = new Int32Array(positions.length / 3).fill(-1), before = []; // corners made so far of each vertex
    for (let k = 0; k < faces.length; k++) {
      const f = 3 * Math.floor(k / 3), v = faces[k];
      let x = 0, y = 0, z = 0;
      for (let i = starts[v]; i < starts[v + 1]; i++) {
        const g = 3 * around[i], area = areas[around[i]], [nx, ny, nz] = [normals[g], normals[g + 1], normals[g + 2]];
        if (normals[f] * nx + normals[f + 1] * ny + normals[f + 2] * nz < CREASE) continue;
        x += area * nx;
        y += area * ny;
        z += area * nz;
      }
      const length = Math.hypot(x, y, z) || 1;
      const normal = [x, y, z].map((each) => Math.round((127 * each) / length));
      let at = last[v];
      while (at >= 0 && normal.some((each, i) => each !== outNormals[4 * at + i])) at = before[at];
      if (at < 0) {
        at = before.length;
        before.push(last[v]);
        last[v] = at;
        outPositions.push(positions[3 * v], positions[3 * v + 1], positions[3 * v + 2], 0);
        outNormals.push(...normal, 0);
      }
      index[k] = at;
    }
    return { positions: new Int16Array(outPositions), normals: new Int8Array(outNormals), index };
  }

  function faceNormals(positions, faces) {
    const normals = new Float32Array(faces.length), areas = new Float32Array(faces.length / 3);
    for (let f = 0; f < areas.length; f++) {
      const [a, b, c] = [0, 1, 2].map((i) => 3 * faces[3 * f + i]);
      const side = (end) => [0, 1, 2].map((i) => positions[end + i] - positions[a + i]);
      const n = Kinematics.cross(side(b), side(c));
      areas[f] = Math.hypot(...n) || 1;
      normals.set(n.map((each) => each / areas[f]), 3 * f);
    }
    return { normals, areas };
  }

  // faces that meet in vertex v: around[starts[v]] to around[starts[v + 1] - 1]
  function facesAround(faces, vertices) {
    const starts = new Uint32Array(vertices + 1), around = new Uint32Array(faces.length);
    for (const v of faces) starts[v + 1]++;
    for (let v = 0; v < vertices; v++) starts[v + 1] += starts[v];
    const next = starts.slice();
    for (let k = 0; k < faces.length; k++) around[next[faces[k]]++] = Math.floor(k / 3);
    return { starts, around };
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
        const square = [[i, k], [i, k + 1], [i + 1, k + 1], [i, k], [i + 1, k + 1], [i + 1, k]];
        for (const [row, step] of square) put(profile[row], step);
      }
    }
    const index = Uint32Array.from({ length: positions.length / 3 }, (_, i) => i);
    return { positions: new Float32Array(positions), normals: new Float32Array(normals), index };
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
