// Preloaded into a program: its CPU time in milliseconds becomes the last line it prints. With
// FAKE_TERMINAL=1 it takes its output for a terminal.
import { writeSync } from "node:fs";

if (process.env.FAKE_TERMINAL === "1") {
  Object.assign(process.stdout, { isTTY: true, columns: 80, getColorDepth: () => 8 });
}
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  writeSync(1, `\n${(user + system) / 1000}\n`);
});
