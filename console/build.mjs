// Bundles the console into dist: one page, one script and one style sheet, each also compressed. The names of the last
// two contain a hash of their content, so browsers may keep them.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const folder = new URL(".", import.meta.url).pathname;
const dist = `${folder}dist`;

// What a browser loads at first, uncompressed.
const BYTES_MAX = 200_000;

const result = await build({
  entryPoints: { app: `${folder}src/main.tsx` },
  bundle: true,
  minify: true,
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  outdir: dist,
  write: false,
});

mkdirSync(dist, { recursive: true });
for (const name of readdirSync(dist).filter((name) => !name.startsWith("."))) {
  rmSync(`${dist}/${name}`);
}
let page = readFileSync(`${folder}src/index.html`, "utf8");
let bytes = 0;
const write = (name, content) => {
  bytes += content.length;
  writeFileSync(`${dist}/${name}`, content);
  writeFileSync(`${dist}/${name}.gz`, gzipSync(content, { level: 9 }));
};
for (const { path, contents } of result.outputFiles) {
  const extension = path.split(".").at(-1);
  const name = `app-${createHash("sha256").update(contents).digest("hex").slice(0, 16)}.${extension}`;
  page = page.replace(`app.${extension}`, name);
  write(name, Buffer.from(contents));
}
write("index.html", Buffer.from(page));
if (bytes > BYTES_MAX) {
  throw new Error(`the console has ${bytes} bytes, more than ${BYTES_MAX}`);
}
console.log(`console: ${bytes} bytes in ${result.outputFiles.length + 1} files`);
