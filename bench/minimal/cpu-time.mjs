// Preload this into a program to print its CPU time in milliseconds as the last line. With
// FAKE_TERMINAL=1, the program treats its output as a terminal.
import { writeSync } from "node:fs";

if (process.env.FAKE_TERMINAL === "1") {
  Object.assign(process.stdout, { isTTY: true, columns: 80, getColorDepth: () => 8 });
}
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  writeSync(1, `\n${(user + system) / 1000}\n`);
});
