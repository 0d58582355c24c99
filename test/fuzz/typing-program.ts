/**
 * Asks one question after the other. Each but the last is taken away after a time of the first argument. Writes the
 * results to the file of the second.
 */
import { writeFileSync } from "node:fs";
import { TerminalPrompter } from "../../src/surfaces/terminal/index.ts";
import { textQuestion } from "../../src/record/tool/index.ts";
import { runPrompterTask } from "../support/prompter-task.ts";

const [, , words = "", file = ""] = process.argv;
const takenAfterMs = JSON.parse(words) as readonly number[];
const prompter = new TerminalPrompter();
const results: unknown[] = [];
for (const [index, ms] of [...takenAfterMs, undefined].entries()) {
  const abort = new AbortController();
  if (ms !== undefined) setTimeout(() => abort.abort(), ms);
  const question = textQuestion("q", `Question ${index}?`);
  results.push(
    await runPrompterTask(prompter, { method: "ask", request: { question } }, abort.signal),
  );
}
writeFileSync(file, JSON.stringify(results));
