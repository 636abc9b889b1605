/** Writes build.json: what the assets were built from, so that a test can tell stale ones. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Plugin } from "vite";

const SOURCES = ["src", "public", "index.html", "package-lock.json", "tsconfig.json", "vite.config.ts"];

function filesOf(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .flatMap((entry) => filesOf(join(path, entry.name)))
      .sort();
  } catch {
    return [path];
  }
}

function digest(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

function digests(root: string, names: string[]): Record<string, string> {
  const files = names.flatMap((name) => filesOf(join(root, name))).sort();
  return Object.fromEntries(files.map((file) => [relative(root, file), digest(file)]));
}

export function buildRecord(): Plugin {
  let root = "";
  let target = "";
  return {
    name: "build-record",
    apply: "build",
    configResolved(config) {
      root = config.root;
      target = resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      const names = readdirSync(target).filter((name) => name !== "build.json");
      const record = { sources: digests(root, SOURCES), assets: digests(target, names) };
      writeFileSync(join(target, "build.json"), `${JSON.stringify(record, null, 1)}\n`);
    },
  };
}
