// One view: canvas, controls, and what they do to each other.
const INNER = ["skeleton", "axes", "frames", "ellipsoids", "centers"]; // what meshes hide
const THROUGH = 0.45; // opacity at which they do not

class Viewer {
  constructor(root) {
    this.root = root;
    this.scene = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    this.part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.canvas = this.part("canvas");
    this.picture = new Picture(this.scene);
    this.camera = new Camera(this.picture.box);
    this.q = Array.from(this.scene.q);
    this.selected = -1;
    this.time = 0;
    this.playing = null;
    this.motion = this.scene.motion && new Motion(this.scene.motion, this.q.length);
    this.show = {};
    this.opacity = 1;
    this.enlarge = 1;
    this.controls();
    try {
      this.start();
    } catch {
      this.part("stage").classList.add("sy-without");
      return;
    }
    this.pointers();
    this.keys();
  }

  start() {
    this.renderer = new Renderer(this.canvas, this.picture.shapes, this.picture.ground);
    this.picture.attach(this.renderer);
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.renderer = new Renderer(this.canvas, this.picture.shapes, this.picture.ground);
      this.picture.attach(this.renderer);
      this.redraw();
    });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.resize();
    this.root.dataset.ready = "";
  }

  resize() {
    const scale = Math.min(window.devicePixelRatio || 1, 2), { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    this.canvas.width = Math.round(clientWidth * scale);
    this.canvas.height = Math.round(clientHeight * scale);
    this.camera.shaped(clientWidth / clientHeight);
    this.draw();
  }

  redraw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.draw();
    });
  }

  draw() {
    if (!this.renderer) return;
    const poses = Kinematics.worldPoses(this.scene.joints, this.q);
    this.poses = poses;
    const items = this.picture.items(poses, this.show, this.selected);
    const overlays = this.picture.overlays(poses, this.show, this.enlarge, this.selected);
    this.renderer.draw(this.camera, items, overlays, this.opacity, this.show.grid);
  }

  // --- controls ---------------------------------------------------------------------------------------------------

  controls() {
    const { scene } = this, shown = scene.parts.some((part) => part.role === "visual");
    const identified = scene.bodies.some((body) => body.identified);
    const regions = scene.bodies.some((body) => body.identified?.region);
    const drawn = new Set(scene.parts.map((part) => part.body));
    const solid = 2 * drawn.size > scene.bodies.length; // not feet alone
    const masses = identified || !solid;
    const boxes = [
      ["visual", "Visual meshes", shown, shown],
      ["collision", "Collision shapes", !shown, scene.parts.some((part) => part.role === "collision")],
      ["skeleton", "Skeleton", !solid, true],
      ["axes", "Joint axes", false, true],
      ["frames", "Link frames", false, true],
      ["ellipsoids", "Inertia ellipsoids", masses, true],
      ["centers", "Centres of mass", masses, true],
      ["regions", "Where the centre of mass can be (95 %)", regions, regions],
      ["given", identified ? "Masses of the nominal model" : "Masses of the model", !identified, identified],
      ["identified", "Masses as identified", identified, identified],
      ["grid", "Ground grid", true, true],
    ];
    const list = this.part("boxes");
    for (const [name, label, on, offered] of boxes) {
      this.show[name] = on;
      if (!offered) continue;
      const input = made("input", { type: "checkbox", checked: on });
      input.addEventListener("change", () => {
        this.show[name] = input.checked;
        if (input.checked && INNER.includes(name)) this.seeThrough();
        this.redraw();
      });
      const key = { given: "sy-given", identified: "sy-identified", collision: "sy-collision", axes: "sy-axes" }[name];
      list.append(made("label", {}, input, ...(key ? [made("span", { className: `sy-key ${key}` })] : []), label));
    }
    this.opacity = masses && solid ? THROUGH : 1;
    const percent = (value) => `${Math.round(100 * value)} %`;
    const times = (value) => `\u00d7${(10 ** value).toPrecision(2)}`;
    this.slider("opacity", this.opacity, (value) => { this.opacity = value; }, percent);
    if (regions) this.slider("enlarge", 0, (value) => { this.enlarge = 10 ** value; }, times);
    else this.part("enlarge").closest("label").remove();
    const loose = scene.bodies.filter(({ identified: mass }) => mass?.region && this.picture.isLoose(mass)).length;
    if (loose) {
      this.part("loose").textContent = `The log leaves ${loose} of ${scene.bodies.length} centres of mass wide open: ` +
        "moving them hardly changes the torques. Their regions are drawn for the chosen link only.";
    }
    this.links();
    this.joints();
    this.player();
    for (const [name, act] of Object.entries(this.actions())) this.part(name)?.addEventListener("click", act);
  }

  // what lies inside opaque meshes is asked for: let it shine through, once; the slider has the last word
  seeThrough() {
    const input = this.part("opacity");
    if (this.seenThrough || this.opacity < 1 || !this.scene.parts.length) return;
    this.seenThrough = true;
    input.value = THROUGH;
    input.dispatchEvent(new Event("input"));
  }

  slider(name, value, take, words) {
    const input = this.part(name), output = input.parentElement.querySelector("output");
    const refresh = () => {
      output.textContent = words(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.value = value;
    refresh();
    input.addEventListener("input", () => {
      take(Number(input.value));
      refresh();
      this.redraw();
    });
  }

  actions() {
    const then = (change) => () => {
      change();
      this.redraw();
    };
    return {
      reset: then(() => this.camera.reset()),
      front: then(() => this.camera.look(0, 0)),
      side: then(() => this.camera.look(Math.PI / 2, 0)),
      top: then(() => this.camera.look(0, 1.5607)),
      closer: then(() => this.camera.zoom(0.8)),
      farther: then(() => this.camera.zoom(1.25)),
      full: () => {
        const done = document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen();
        done.catch(() => {}); // a frame may forbid it
      },
      zero: () => {
        this.pause();
        this.scene.q.forEach((each, i) => { this.q[i] = each; });
        this.moved();
      },
    };
  }

  links() {
    const select = this.part("link");
    select.append(made("option", { value: -1, textContent: "none" }));
    this.scene.bodies.forEach((body, i) => select.append(made("option", { value: i, textContent: body.name })));
    select.addEventListener("change", () => this.select(Number(select.value)));
  }

  select(index) {
    this.selected = index;
    this.part("link").value = index;
    const body = this.scene.bodies[index];
    this.part("facts").replaceChildren(...(body ? [this.facts(body)] : []));
    this.redraw();
  }

  // mass and centre of mass of a link as a table: one column a source
  facts(body) {
    const columns = ["given", "identified"].filter((which) => body[which]);
    const line = (title, words) => made("tr", {}, made("th", { scope: "row", textContent: title }),
      ...columns.map((which) => made("td", { textContent: words(body[which]) })));
    const millimetres = (mass, i) => (mass.com ? spelled(1000 * mass.com[i], 1) : "\u2013");
    const head = made("tr", {}, made("td"), ...columns.map((textContent) => made("th", { scope: "col", textContent })));
    const rows = [
      line("mass [kg]", (mass) => spelled(mass.mass, 3)),
      ...["x", "y", "z"].map((axis, i) => line(`centre ${axis} [mm]`, (mass) => millimetres(mass, i))),
    ];
    if (body.identified?.region) {
      const reach = ({ region }) => (region ? `\u00b1${spelled(1000 * longest(region), 1)}` : "");
      rows.push(line("known to, 95 % [mm]", reach));
    }
    const caption = made("caption", { textContent: body.name });
    return made("table", {}, caption, made("thead", {}, head), made("tbody", {}, ...rows));
  }

  joints() {
    const list = this.part("joints"), changed = () => {
      this.pause();
      this.moved();
    };
    const free = this.scene.joints.filter((joint) => joint.mimics === null);
    this.jointControls = free.map((joint) => jointControl(joint, this.q, this.picture.size, changed));
    if (this.root.clientWidth < 600 && free.length > 8) list.closest("details").open = false;
    list.append(...this.jointControls.map((control) => control.node));
    for (const joint of this.scene.joints.filter((each) => each.mimics !== null)) {
      list.append(made("p", { className: "sy-ends", textContent: `${joint.name} follows ${joint.mimics}.` }));
    }
    this.part("count").textContent = this.jointControls.length;
    for (const note of this.scene.notes) this.part("notes").append(made("li", { textContent: note }));
    this.part("notes").closest("details").hidden = !this.scene.notes.length;
    this.refreshJoints();
  }

  refreshJoints() {
    this.jointControls.forEach((control) => control.refresh());
  }

  moved() {
    this.refreshJoints();
    this.redraw();
  }

  // --- playback ---------------------------------------------------------------------------------------------------

  player() {
    const bar = this.part("player");
    bar.hidden = !this.motion;
    if (!this.motion) return;
    const slider = this.part("time");
    slider.max = this.motion.duration;
    slider.addEventListener("input", () => {
      this.pause();
      this.seek(Number(slider.value));
    });
    this.part("play").addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    this.seek(0);
  }

  seek(time) {
    this.time = time;
    this.motion.at(time).forEach((each, i) => { this.q[i] = each; });
    const slider = this.part("time"), text = `${time.toFixed(2)} s of ${this.motion.duration.toFixed(2)} s`;
    slider.value = time;
    slider.setAttribute("aria-valuetext", text);
    this.part("clock").textContent = text;
    this.moved();
  }

  play() {
    let last = null;
    if (this.time >= this.motion.duration) this.time = 0;
    const step = (now) => {
      if (!this.playing) return;
      const passed = last === null ? 0 : Math.min((now - last) / 1000, 0.2) * Number(this.part("speed").value);
      last = now;
      this.seek((this.time + passed) % this.motion.duration);
      this.playing = requestAnimationFrame(step);
    };
    this.playing = requestAnimationFrame(step);
    this.playState("Pause");
  }

  pause() {
    if (this.playing) cancelAnimationFrame(this.playing);
    this.playing = null;
    if (this.motion) this.playState("Play");
  }

  playState(text) {
    this.part("play").textContent = text;
  }

  // --- mouse, touch, keyboard --------------------------------------------------------------------------------------

  pointers() {
    const { canvas, camera } = this, down = new Map();
    let travelled = 0;
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, [event.offsetX, event.offsetY]);
      if (down.size === 1) travelled = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = down.get(event.pointerId);
      if (!before) return;
      const now = [event.offsetX, event.offsetY], height = canvas.clientHeight;
      const step = [now[0] - before[0], now[1] - before[1]];
      travelled += Math.hypot(...step);
      if (down.size === 2) {
        const other = [...down].find(([id]) => id !== event.pointerId)[1];
        const apart = (point) => Math.max(Math.hypot(point[0] - other[0], point[1] - other[1]), 1);
        camera.zoom(apart(before) / apart(now));
        camera.pan(step[0] / 2 / height, -step[1] / 2 / height);
      } else if (event.buttons & 6 || event.shiftKey) camera.pan(step[0] / height, -step[1] / height);
      else camera.turn((4 * step[0]) / height, (4 * step[1]) / height);
      down.set(event.pointerId, now);
      this.redraw();
    });
    const up = (event) => {
      const still = down.delete(event.pointerId) && !down.size && travelled < 5;
      if (still && event.type === "pointerup" && event.button === 0) this.pick(event);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("wheel", (event) => {
      // a page that is scrolled past the view keeps scrolling: only a view that was clicked, or a pinch, zooms
      if (!event.ctrlKey && document.activeElement !== canvas && !this.root.classList.contains("sy-whole")) return;
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode ? 30 : 1);
      camera.zoom(Math.exp(0.0015 * Math.max(-300, Math.min(300, pixels))));
      this.redraw();
    }, { passive: false });
  }

  pick(event) {
    const { clientWidth, clientHeight } = this.canvas;
    const ray = this.camera.ray((2 * event.offsetX) / clientWidth - 1, 1 - (2 * event.offsetY) / clientHeight);
    this.select(this.picture.bodyAt(this.poses, this.show, this.camera.eye, ray));
  }

  keys() {
    const { camera } = this, step = 0.12;
    const moves = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
    };
    this.canvas.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (move && event.shiftKey) camera.pan(0.05 * move[0], 0.05 * move[1]);
      else if (move) camera.turn(-step * move[0], step * move[1]);
      else if (event.key === "+" || event.key === "=") camera.zoom(0.85);
      else if (event.key === "-") camera.zoom(1 / 0.85);
      else if (event.key === "Home" || event.key === "0") camera.reset();
      else if (event.key === " " && this.motion) this.part("play").click();
      else return;
      event.preventDefault();
      this.redraw();
    });
  }
}

for (const root of document.querySelectorAll("[data-steelyard-view]")) {
  if (root.viewer) continue;
  root.viewer = new Viewer(root);
}
