// A motion of the scene: samples in time, read in between.
class Motion {
  constructor(packed, count) {
    this.t = new Float32Array(Shapes.bytes(packed.t));
    this.q = new Float32Array(Shapes.bytes(packed.q));
    this.width = count;
    this.duration = packed.duration;
  }

  at(time) {
    const { t, q, width } = this;
    let low = 0, high = t.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (t[middle] <= time) low = middle;
      else high = middle;
    }
    const share = Math.min(Math.max((time - t[low]) / (t[high] - t[low] || 1), 0), 1);
    return Array.from({ length: width }, (_, i) => (1 - share) * q[low * width + i] + share * q[high * width + i]);
  }
}
