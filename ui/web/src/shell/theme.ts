export type Theme = "system" | "light" | "dark";

export const theme = (): Theme => {
  const kept = localStorage.getItem("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
};

/** applyTheme shows the page in the theme that was chosen, or else that of the system. */
export function applyTheme() {
  const chosen = theme();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function setTheme(chosen: Theme) {
  localStorage.setItem("theme", chosen);
  applyTheme();
}
