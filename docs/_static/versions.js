// Offers the other versions of the documentation, where `versions.js` of the site has named them.
addEventListener("DOMContentLoaded", () => {
  const label = document.getElementById("versions");
  const site = window.HEADRACE_VERSIONS;
  if (!label || !site || site.versions.length < 2) return;
  const select = label.querySelector("select");
  const root = new URL(`${document.documentElement.dataset.content_root || "./"}../`, location.href);
  const here = location.href.slice(root.href.length).split("/")[0];
  for (const version of site.versions) select.add(new Option(version, version, false, version === here));
  select.addEventListener("change", () => {
    location.href = new URL(`${select.value}/index.html`, root).href;
  });
  label.hidden = false;
  label.style.display = "block";
});
