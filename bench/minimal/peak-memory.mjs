// Preloaded into a program: its peak memory in kilobytes becomes the last line it prints.
import { writeSync } from "node:fs";

process.on("exit", () => writeSync(1, `${process.resourceUsage().maxRSS}\n`));
