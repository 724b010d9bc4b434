// Light or dark: as the system is, or as the user chose.

import { useEffect, useState } from "preact/hooks";

export type Theme = "auto" | "light" | "dark";

const NAME = "rawline-theme";
const next: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const listeners = new Set<() => void>();

export function theme(): Theme {
  const stored = localStorage.getItem(NAME);
  return stored === "light" || stored === "dark" ? stored : "auto";
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
}

export function toggleTheme(): void {
  localStorage.setItem(NAME, next[theme()]);
  applyTheme();
  listeners.forEach((listener) => listener());
}

/** Changes with the theme, also with the system's. */
export function useTheme(): string {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const current = (): string => `${theme()} ${system.matches}`;
  const [state, setState] = useState(current());
  useEffect(() => {
    const changed = (): void => setState(current());
    listeners.add(changed);
    system.addEventListener("change", changed);
    return () => {
      listeners.delete(changed);
      system.removeEventListener("change", changed);
    };
  }, []);
  return state;
}
