import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server's policy allows nothing inline, so no asset may become a data: address.
export default defineConfig({
  plugins: [react()],
  base: "/",
  build: {
    outDir: "build/site",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    target: "es2023",
    license: { fileName: "licences.md" },
  },
  test: { include: ["src/**/*.test.ts"] },
  server: { proxy: { "/api": "http://127.0.0.1:8095" } },
});
