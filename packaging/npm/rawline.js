#!/usr/bin/env node
// Runs the binary of this system, which is in a package of its name, with the same arguments, streams and exit code.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const name = `@rawline/${process.platform}-${process.arch}`;

function binary() {
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/rawline`);
  } catch {
    console.error(
      `rawline: the package ${name} is not installed. If it exists, install without --omit=optional; ` +
        "otherwise build from source: the README says how.",
    );
    process.exit(1);
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit" });
// A terminal sends SIGINT to both; the broker ends, and this with it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => signal === "SIGINT" || child.kill(signal));
}
child.on("error", (error) => {
  console.error(`rawline: can't run ${name}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
