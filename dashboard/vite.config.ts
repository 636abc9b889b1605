import { defineConfig } from "vite";
import { buildRecord } from "./build-record.ts";

const jobManager = process.env["HEADRACE_JOB_MANAGER"] ?? "http://127.0.0.1:8081";

export default defineConfig({
  base: "/dashboard/",
  publicDir: "public",
  plugins: [buildRecord()],
  build: {
    outDir: "../src/headrace/cluster/dashboard",
    emptyOutDir: true,
    target: "es2022",
    // The first browsers with light-dark(), of 2023 and 2024.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: false,
    assetsInlineLimit: 0,
    // Names without hashes: the JobManager serves the files with an ETag, and diffs stay readable.
    rollupOptions: {
      output: { entryFileNames: "app.js", assetFileNames: "[name][extname]" },
    },
  },
  server: {
    host: "127.0.0.1",
    // Everything but the page itself is the REST interface of a JobManager.
    proxy: { "^/(?!dashboard/)": { target: jobManager, changeOrigin: true, headers: { origin: jobManager } } },
  },
});
