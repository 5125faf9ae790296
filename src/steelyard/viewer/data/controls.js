// Controls are made here, never from text of the scene: names reach the page as text content only.
function made(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const spelled = (value, digits) => value.toFixed(digits).replace("-", "\u2212");

const UNITS = {
  angle: (value) => `${spelled(value, 3)} rad, ${spelled((value * 180) / Math.PI, 1)}\u00b0`,
  travel: (value) => `${spelled(value, 4)} m`,
};

// the sliders of one joint: names, kind, range, how they read q and write it back
function slidersOf(joint, size) {
  const whole = { lower: -Math.PI, upper: Math.PI, unit: "angle" };
  const reach = { lower: -size, upper: size, unit: "travel" };
  const plain = (label, index, range) => ({
    label, ...range,
    read: (q) => q[joint.start + index],
    write: (q, value) => { q[joint.start + index] = value; },
  });
  const turns = (first) => ["roll", "pitch", "yaw"].map((label, i) => ({
    label, ...whole, limits: null,
    read: (q) => Kinematics.rpyFromQuaternion(q.slice(joint.start + first, joint.start + first + 4))[i],
    write: (q, value, held) => {
      held[i] = value;
      Kinematics.quaternionFromRpy(held).forEach((each, k) => { q[joint.start + first + k] = each; });
    },
    held: (q) => Kinematics.rpyFromQuaternion(q.slice(joint.start + first, joint.start + first + 4)),
  }));
  if (joint.count > 1) {
    const angled = joint.slides + joint.angles;
    const lengths = ["x", "y", "z"].slice(0, joint.slides).map((label, i) => plain(label, i, reach));
    for (let i = joint.slides; i < angled; i++) lengths.push(plain("angle", i, whole));
    return joint.count > angled ? [...lengths, ...turns(angled)] : lengths;
  }
  const range = joint.slides ? reach : whole;
  const [lower, upper] = joint.limits ?? [range.lower, range.upper];
  return [{ ...plain("", 0, { ...range, lower, upper }), limits: joint.limits }];
}

// a fieldset with the sliders of a joint; changed(): called when one was moved. Returns { node, refresh }
function jointControl(joint, q, size, changed) {
  const rows = slidersOf(joint, size).map((slider) => {
    const input = made("input", { type: "range", min: slider.lower, max: slider.upper, step: "any" });
    const output = made("output");
    const label = [joint.name, slider.label].filter(Boolean).join(" ");
    input.setAttribute("aria-label", label);
    let held = null;
    const refresh = () => {
      const value = slider.read(q);
      input.value = value;
      const text = UNITS[slider.unit](value);
      output.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("pointerdown", () => { held = slider.held?.(q) ?? null; });
    input.addEventListener("input", () => {
      slider.write(q, Number(input.value), held ?? slider.held?.(q));
      changed();
    });
    const name = made("span", { className: "sy-name", textContent: slider.label || joint.name });
    const short = (value) => UNITS[slider.unit](value).split(",")[0];
    const ends = slider.limits ? `${short(slider.lower)} to ${short(slider.upper)}` : "no limits";
    const head = made("div", { className: "sy-row" }, name, output);
    const foot = made("div", { className: "sy-ends", textContent: ends });
    const node = made("div", { className: "sy-joint" }, head, input, foot);
    return { node, refresh };
  });
  const legend = made("legend", { textContent: joint.name });
  const node = rows.length > 1 ? made("fieldset", {}, legend, ...rows.map((row) => row.node)) : rows[0].node;
  return { node, refresh: () => rows.forEach((row) => row.refresh()) };
}
