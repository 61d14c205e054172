import { looks, of } from "./looks.mjs";

looks("phone", [
  { width: 390, height: 780, themes: of("light"), axe: true },
  { width: 360, height: 780, themes: of("light") },
]);
