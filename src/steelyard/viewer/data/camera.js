// A camera that turns about a target; z is up. Angles in radians, lengths in metres.
class Camera {
  constructor(box) {
    this.fov = 0.6;
    this.box = box;
    this.aspect = 1;
    this.reset();
  }

  reset() {
    const { lower, upper } = this.box;
    this.target = lower.map((each, i) => (each + upper[i]) / 2);
    this.radius = Math.max(Math.hypot(...lower.map((each, i) => upper[i] - each)) / 2, 1e-3);
    this.azimuth = 0.75;
    this.elevation = 0.32;
    this.distance = this.fitting();
  }

  // distance at which all of the box is in view, whatever the shape of the canvas
  fitting() {
    const narrow = Math.atan(Math.tan(this.fov / 2) * Math.min(this.aspect, 1));
    return (0.98 * this.radius) / Math.sin(narrow);
  }

  shaped(aspect) {
    const fits = this.distance / this.fitting();
    this.aspect = aspect;
    this.distance = fits * this.fitting();
  }

  look(azimuth, elevation) {
    this.azimuth = azimuth;
    this.elevation = elevation;
  }

  turn(right, up) {
    this.azimuth -= right;
    this.elevation = Math.min(Math.max(this.elevation + up, -1.5607), 1.5607);
  }

  zoom(factor) {
    this.distance = Math.min(Math.max(this.distance * factor, 0.02 * this.radius), 60 * this.radius);
  }

  // move the target across the view; right, up: shares of the view's height
  pan(right, up) {
    const span = 2 * this.distance * Math.tan(this.fov / 2), { x, y } = this.axes();
    this.target = this.target.map((each, i) => each - span * (right * x[i] + up * y[i]));
  }

  // unit vectors in the world: to the right, up, and towards the viewer
  axes() {
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth);
    const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    return { x: [-sa, ca, 0], y: [-se * ca, -se * sa, ce], z: [ce * ca, ce * sa, se] };
  }

  get eye() {
    const { z } = this.axes();
    return this.target.map((each, i) => each + this.distance * z[i]);
  }

  // 4 x 4 matrices in column order
  view() {
    const { x, y, z } = this.axes(), eye = this.eye;
    const dot = (a) => -(a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2]);
    return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, dot(x), dot(y), dot(z), 1];
  }

  projection() {
    const near = Math.max(this.distance - 4 * this.radius, 0.01 * this.distance);
    const far = this.distance + 14 * this.radius, depth = near - far;
    const f = 1 / Math.tan(this.fov / 2);
    return [f / this.aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / depth, -1, 0, 0, (2 * far * near) / depth, 0];
  }

  // direction in the world through a point of the view, x and y from -1 to 1
  ray(px, py) {
    const { x, y, z } = this.axes(), t = Math.tan(this.fov / 2);
    return x.map((each, i) => each * px * t * this.aspect + y[i] * py * t - z[i]);
  }
}
