import react from "@vitejs/plugin-react";
import { loadEnv } from "vite";
import { defineConfig } from "vitest/config";

// The server that npm run dev shows: start one with posthouse dev --demo.
const target = loadEnv("", ".", "PAGE_").PAGE_SERVER ?? "http://127.0.0.1:8095";

// What the inbox stands on is one file with all that it needs: many small ones are larger together, and come
// one after the other.
const first = /src\/(app|shell\/bar|parts\/(tabs|wide)|gate\/detail)\.tsx$/;

// The server's policy allows nothing inline, so no asset may become a data: address.
export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: [
      // What libraries bring for cases that the pages do not have: an older React, and icons of any size.
      { find: "use-sync-external-store/shim/index.js", replacement: "react" },
      { find: /^.*\/createLucideIcon\.mjs$/, replacement: new URL("src/parts/icon.ts", import.meta.url).pathname },
    ],
  },
  base: "/",
  build: {
    outDir: "build/site",
    emptyOutDir: true,
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: {
      polyfill: false,
      // A screen that is loaded later names its styles only: lists of its scripts would be in the first load.
      resolveDependencies: (_, deps, { hostType }) =>
        hostType === "js" ? deps.filter((d) => d.endsWith(".css")) : deps,
    },
    target: "es2023",
    rolldownOptions: {
      // The application, the login, and the page of a link that decides.
      input: ["index.html", "login.html", "decide.html"],
      output: { codeSplitting: { groups: [{ name: "base", test: first }] } },
    },
    license: { fileName: "licences.md" },
  },
  test: { include: ["src/**/*.test.ts"], testTimeout: 60_000 },
  server: {
    proxy: {
      "^/(api|login|logout|readyz|version|openapi\\.json|docs|code)(/|\\?|$)": {
        target,
        changeOrigin: true,
        headers: { origin: target },
      },
    },
  },
});
