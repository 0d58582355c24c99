/**
 * The terminal prompter as a program: does what its first argument says, and writes what comes of it
 * into the file named by the second.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { TerminalPrompter } from "../../src/terminal/index.ts";
import type { PrompterTask } from "./prompter-task.ts";

const [, , words = "", file = ""] = process.argv;
const task = JSON.parse(words) as PrompterTask;
const abort = new AbortController();
process.on("SIGUSR1", () => abort.abort());
// The terminal goes away, and the program lives to tell.
process.on("SIGHUP", () => {});

if (task.printFirst !== undefined) process.stdout.write(task.printFirst);
const { signal } = abort;
const prompter = new TerminalPrompter({
  ...(task.notification !== undefined && { notification: task.notification }),
  ...(task.edited !== undefined && { editText }),
  ...(task.isPlain !== undefined && { isPlain: task.isPlain }),
});
try {
  const result = task.isTwice === true ? await Promise.all([run(), run()]) : await run();
  writeFileSync(file, JSON.stringify(result));
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  writeFileSync(file, JSON.stringify({ code, message }));
}
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

function run(): Promise<unknown> {
  switch (task.method) {
    case "ask":
      return prompter.ask({ ...task.request, signal });
    case "askForm":
      return prompter.askForm({ ...task.request, signal });
    case "askPermission": {
      const { refused } = task;
      const check = (edited: object) =>
        Promise.resolve(JSON.stringify(edited) === refused ? "No \u001b[2Jgood." : undefined);
      return prompter.askPermission({ ...task.request, check, signal });
    }
    case "askDelivery":
      return prompter.askDelivery({ ...task.request, signal });
    case "choose":
      return prompter.choose({ ...task.request, signal });
    default:
      return task satisfies never;
  }
}

/** An editor that is told what to make of a text, and notices whether the terminal is as it likes it. */
async function editText(text: string, { extension }: { extension: string }): Promise<string> {
  const { stdout } = spawnSync("stty", ["-F", "/dev/tty", "-a"], { encoding: "utf8" });
  const isUsual = / icanon /.test(stdout) && / echo /.test(stdout);
  if (!isUsual) throw new Error("The terminal is not as an editor expects it.");
  if (task.edited === "fail") throw new Error("No editor \u001b[2Jis set.");
  return (task.edited ?? "").replace("$TEXT", text).replace("$EXTENSION", extension);
}
