/** Light, dark, or what the system says. */

import { useState } from "preact/hooks";

const KEY = "headrace.theme";

export type Theme = "system" | "light" | "dark";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const SIGN: Record<Theme, string> = { system: "◐", light: "○", dark: "●" };

export function savedTheme(): Theme {
  const saved = localStorage.getItem(KEY);
  return saved === "light" || saved === "dark" ? saved : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
}

export function ThemeToggle() {
  const [theme, setTheme] = useState(savedTheme);
  const change = () => {
    const next = NEXT[theme];
    localStorage.setItem(KEY, next);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <button type="button" class="quiet" onClick={change} aria-label={`Colours: ${theme}. Change`} title={`Colours: ${theme}`}>
      <span aria-hidden="true">{SIGN[theme]}</span>
    </button>
  );
}
