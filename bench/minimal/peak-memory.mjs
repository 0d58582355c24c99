// Preload this into a program to print its peak memory in kilobytes as the last line.
import { writeSync } from "node:fs";

process.on("exit", () => writeSync(1, `${process.resourceUsage().maxRSS}\n`));
