import { both, looks, of } from "./looks.mjs";

looks("desk", [
  { width: 1280, height: 800, themes: both, axe: true },
  { width: 2560, height: 800, themes: of("dark") },
]);
