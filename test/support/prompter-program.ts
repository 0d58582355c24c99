/**
 * The terminal prompter as a program: runs the task in its first argument, and writes the result to the
 * file in the second.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { TerminalPrompter } from "../../src/surfaces/terminal/index.ts";
import { editByTask, type PrompterTask, runPrompterTask } from "./prompter-task.ts";

const [, , words = "", file = ""] = process.argv;
const task = JSON.parse(words) as PrompterTask;
const abort = new AbortController();
process.on("SIGUSR1", () => abort.abort());
// Survives a closed terminal to report the result.
process.on("SIGHUP", () => {});

if (task.printFirst !== undefined) process.stdout.write(task.printFirst);
const prompter = new TerminalPrompter({
  ...(task.notification !== undefined && { notification: task.notification }),
  ...(task.edited !== undefined && { editText }),
  ...(task.isPlain !== undefined && { isPlain: task.isPlain }),
});
const result = await runPrompterTask(prompter, task, abort.signal);
writeFileSync(file, JSON.stringify(result));
// By then, all streams are closed.
process.once("exit", () => {
  if (task.countsDescriptors === true) writeFileSync(file, JSON.stringify(countDescriptors()));
});

function countDescriptors(): number {
  return readdirSync("/proc/self/fd").filter(isPromptTerminal).length;
}

/** The standard streams lead to the terminal under another name. */
function isPromptTerminal(descriptor: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`) === "/dev/tty";
  } catch {
    return false; // The one that the folder was read with.
  }
}

/** An editor that fails unless the terminal is in its usual mode. */
async function editText(text: string, { extension }: { extension: string }): Promise<string> {
  const { stdout } = spawnSync("stty", ["-F", "/dev/tty", "-a"], { encoding: "utf8" });
  const isUsual = / icanon /.test(stdout) && / echo /.test(stdout);
  if (!isUsual) throw new Error("The terminal is not as an editor expects it.");
  return editByTask(task, text, extension);
}
