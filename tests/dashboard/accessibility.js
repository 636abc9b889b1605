// Returns what a person with a keyboard, a screen reader or weak eyes would stumble over.
() => {
  const found = [];
  const visible = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
  const shown = (e) => e.outerHTML.slice(0, 120);

  const labelled = (e) => {
    const by = (e.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean);
    const text = by.map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
    return (
      e.getAttribute("aria-label") ||
      text ||
      [...(e.labels ?? [])].map((l) => l.textContent).join(" ") ||
      (/^(INPUT|SELECT|TEXTAREA)$/.test(e.tagName) ? "" : e.textContent) ||
      e.getAttribute("title") ||
      ""
    ).trim();
  };

  for (const e of all("a[href], button, input, select, textarea, [role=button], [role=slider], dialog, nav, [role=region]"))
    if (!labelled(e)) found.push(`no name: ${shown(e)}`);
  for (const e of document.querySelectorAll("img"))
    if (!e.hasAttribute("alt")) found.push(`no alt: ${shown(e)}`);
  for (const e of all("[role=button], [role=slider]"))
    if (e.tagName !== "BUTTON" && !e.hasAttribute("tabindex")) found.push(`not in reach of the keyboard: ${shown(e)}`);
  for (const table of all("table")) {
    if (!table.caption) found.push(`no caption: ${shown(table)}`);
    for (const th of table.querySelectorAll("th"))
      if (!th.hasAttribute("scope")) found.push(`no scope: ${shown(th)}`);
  }
  for (const [selector, many] of [["main", 1], ["h1", 1], ["body > #app > header", 1]])
    if (all(selector).length !== many) found.push(`${all(selector).length} of ${selector}`);
  if (!document.documentElement.lang) found.push("the page names no language");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) found.push(`id ${id} twice`);
  let level = 0;
  for (const heading of all("h1, h2, h3, h4")) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) found.push(`h${now} after h${level}: ${shown(heading)}`);
    level = now;
  }

  const channels = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => {
    const linear = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (text.nextNode()) {
    const e = text.currentNode.parentElement;
    if (!text.currentNode.textContent.trim() || !visible(e) || e.closest("svg, .hidden, :disabled, noscript")) continue;
    const [light, dark] = [luminance(channels(getComputedStyle(e).color)), luminance(behind(e))].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    const key = `${e.tagName}.${e.className}`;
    if (contrast < 4.5 && !seen.has(key)) {
      seen.add(key);
      found.push(`contrast ${contrast.toFixed(1)}: ${shown(e)}`);
    }
  }
  return found;
}
