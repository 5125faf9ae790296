// Draws each figure when it comes into view; all of them before the page is printed.
const options = { responsive: true, displaylogo: false, displayModeBar: false };
const places = [...document.querySelectorAll("[data-figure]")];

async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

async function loadPlotting() {
  const script = document.createElement("script");
  script.textContent = await unpacked("plotly");
  document.head.append(script);
}

function draw(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const figure = JSON.parse(document.getElementById("data-" + place.dataset.figure).textContent);
  Plotly.newPlot(place, figure.data, figure.layout, options);
}

async function start() {
  if (!places.length) return;
  await loadPlotting();
  const near = new IntersectionObserver((seen) => {
    for (const each of seen) if (each.isIntersecting) { near.unobserve(each.target); draw(each.target); }
  }, { rootMargin: "600px" });
  places.forEach((place) => near.observe(place));
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
    places.forEach(draw);
    places.forEach((place) => Plotly.Plots.resize(place));
  });
  window.addEventListener("afterprint", () => places.forEach((place) => Plotly.Plots.resize(place)));
  document.documentElement.dataset.ready = "yes";
}

start();
