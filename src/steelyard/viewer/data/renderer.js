// Drawing with WebGL 2. Meshes first; what lies inside them (`overlays`) shines through as far as they are translucent.
const VERTEX = `#version 300 es
in vec3 position;
in vec3 direction;
uniform mat4 model, view, projection;
uniform mat3 turned;
out vec3 normal, seen;
void main() {
  vec4 placed = view * model * vec4(position, 1.0);
  normal = mat3(view) * turned * direction;
  seen = placed.xyz;
  gl_Position = projection * placed;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 normal, seen;
uniform vec4 color;
uniform float gloss, glass; // highlight; how much clearer the middle is than the rim
uniform vec3 up;
out vec4 pixel;
void main() {
  vec3 n = normalize(normal), eye = normalize(-seen);
  if (dot(n, eye) < 0.0) n = -n;
  vec3 key = normalize(vec3(0.35, 0.6, 0.75)), fill = normalize(vec3(-0.8, 0.1, 0.45));
  vec3 base = pow(color.rgb, vec3(2.2));
  float sky = 0.5 + 0.5 * dot(n, up);
  vec3 lit = base * (0.16 + 0.34 * sky + 0.62 * max(dot(n, key), 0.0) + 0.16 * max(dot(n, fill), 0.0));
  lit += gloss * pow(max(dot(n, normalize(key + eye)), 0.0), 40.0);
  float rim = 1.0 - max(dot(n, eye), 0.0);
  pixel = vec4(pow(lit, vec3(1.0 / 2.2)), color.a * mix(1.0, 0.25 + 1.6 * rim * rim, glass));
}`;
const GROUND_VERTEX = `#version 300 es
uniform mat4 view, projection;
uniform vec4 ground; // centre x, y; height; radius
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  place = ground.xy + corner * ground.w;
  gl_Position = projection * view * vec4(place, ground.z, 1.0);
}`;
const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec2 place;
uniform vec4 ground;
uniform float cell;
out vec4 pixel;
float lines(float size) {
  vec2 at = place / size, width = fwidth(at), away = abs(fract(at - 0.5) - 0.5);
  vec2 on = (1.0 - smoothstep(vec2(0.0), 1.4 * width, away)) * (1.0 - smoothstep(0.15, 0.5, width));
  return max(on.x, on.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.25, 1.0, distance(place, ground.xy) / ground.w);
  pixel = vec4(0.32, 0.38, 0.46, fade * max(0.16 * lines(cell), 0.34 * lines(10.0 * cell)));
}`;
const BACKGROUND = [0.905, 0.925, 0.948];

class Renderer {
  // shapes: unpacked; ground: { center, height, radius, cell }
  constructor(canvas, shapes, ground) {
    this.canvas = canvas;
    this.ground = ground;
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    const names = ["model", "view", "projection", "turned", "color", "gloss", "glass", "up"];
    this.solid = this.program(VERTEX, FRAGMENT, names);
    this.floor = this.program(GROUND_VERTEX, GROUND_FRAGMENT, ["view", "projection", "ground", "cell"]);
    this.meshes = shapes.map((shape) => {
      const made = Shapes.corners(shape);
      return this.upload(made, 4, gl.SHORT, gl.BYTE, true);
    });
    for (const name of ["sphere", "rod", "arrow"]) {
      const made = Shapes[name]();
      this[name] = this.upload(made, 3, gl.FLOAT, gl.FLOAT, false);
    }
    this.nothing = gl.createVertexArray();
  }

  program(vertex, fragment, uniforms) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "position");
    gl.bindAttribLocation(program, 1, "direction");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error("shaders do not link");
    return { program, at: Object.fromEntries(uniforms.map((name) => [name, gl.getUniformLocation(program, name)])) };
  }

  upload({ positions, normals, index }, width, kind, normalKind, unit) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    [[positions, kind, false], [normals, normalKind, unit]].forEach(([data, type, normalized], place) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, type, normalized, width * data.BYTES_PER_ELEMENT, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, index, gl.STATIC_DRAW);
    return { array, count: index.length };
  }

  // items: { mesh, matrix (16), turned (9), color (4), gloss, first, count }, overlays alike; opacity: of the items
  draw(camera, items, overlays, opacity, grid) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...BACKGROUND, 1);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.depthFunc(gl.LEQUAL);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.view = camera.view();
    this.projection = camera.projection();
    if (grid) this.drawGround();
    gl.useProgram(this.solid.program);
    gl.uniformMatrix4fv(this.solid.at.view, false, this.view);
    gl.uniformMatrix4fv(this.solid.at.projection, false, this.projection);
    gl.uniform3f(this.solid.at.up, this.view[8], this.view[9], this.view[10]);
    if (opacity < 1) { // depth first, so that only the front of translucent meshes is drawn
      gl.colorMask(false, false, false, false);
      this.drawAll(items, 1);
      gl.colorMask(true, true, true, true);
    }
    this.drawAll(items, opacity);
    gl.depthMask(false);
    if (opacity < 1) {
      gl.depthFunc(gl.GREATER);
      this.drawAll(overlays, 1 - 0.75 * opacity);
      gl.depthFunc(gl.LEQUAL);
    }
    gl.enable(gl.CULL_FACE);
    this.drawAll(overlays.filter((each) => each.color[3] < 1), 1);
    gl.depthMask(true);
    this.drawAll(overlays.filter((each) => each.color[3] >= 1), 1);
    gl.disable(gl.CULL_FACE);
    gl.bindVertexArray(null);
  }

  drawAll(items, opacity) {
    const gl = this.gl, at = this.solid.at;
    for (const item of items) {
      gl.bindVertexArray(item.mesh.array);
      gl.uniformMatrix4fv(at.model, false, item.matrix);
      gl.uniformMatrix3fv(at.turned, false, item.turned);
      gl.uniform4f(at.color, item.color[0], item.color[1], item.color[2], item.color[3] * opacity);
      gl.uniform1f(at.gloss, item.gloss);
      gl.uniform1f(at.glass, item.glass ?? 0);
      gl.drawElements(gl.TRIANGLES, item.count ?? item.mesh.count, gl.UNSIGNED_INT, 4 * (item.first ?? 0));
    }
  }

  drawGround() {
    const gl = this.gl, { center, height, radius, cell } = this.ground;
    gl.useProgram(this.floor.program);
    gl.uniformMatrix4fv(this.floor.at.view, false, this.view);
    gl.uniformMatrix4fv(this.floor.at.projection, false, this.projection);
    gl.uniform4f(this.floor.at.ground, center[0], center[1], height, radius);
    gl.uniform1f(this.floor.at.cell, cell);
    gl.bindVertexArray(this.nothing);
    gl.depthMask(false);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
  }
}
