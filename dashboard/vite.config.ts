import { defineConfig } from "vite";
import { buildRecord } from "./build-record.ts";

// Names without hashes: the JobManager serves the files with an ETag, and diffs stay readable.
export default defineConfig({
  base: "/dashboard/",
  publicDir: "public",
  plugins: [buildRecord()],
  build: {
    outDir: "../src/headrace/cluster/dashboard",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: "app.js", assetFileNames: "[name][extname]" },
    },
  },
  server: { host: "127.0.0.1" },
});
