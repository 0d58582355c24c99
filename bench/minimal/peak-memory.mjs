// Preload this into a program to print its peak memory in bytes as the last line.
import { writeSync } from "node:fs";

process.on("exit", () => writeSync(1, `\n${process.resourceUsage().maxRSS * 1024}\n`));
