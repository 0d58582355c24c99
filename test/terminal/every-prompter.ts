/** Every prompter, each with its own way to answer it. */
import { holdPrompt, type PrompterScript, ScriptedPrompter } from "../../src/testing/index.ts";
import { PromptProcess, PromptScreen } from "../support/prompt-screen.ts";
import { type PrompterTask, runPrompterTask } from "../support/prompter-task.ts";

export interface Behaviour {
  readonly title: string;
  readonly task: PrompterTask;
  /** The keys on a terminal, each typed when the screen shows the text before it. */
  readonly typed: readonly (readonly [shown: string, keys: string])[];
  /** The same in plain text, line by line. */
  readonly lines: readonly (readonly [shown: string, keys: string])[];
  /** The answers of a scripted prompter. Without them, its prompt stays open. */
  readonly script?: PrompterScript;
  /** The signal aborts while the prompt is open. */
  readonly isAborted?: true;
  readonly result: object;
}

export const PROMPTERS: readonly {
  readonly name: string;
  readonly run: (behaviour: Behaviour) => Promise<unknown>;
}[] = [
  { name: "the terminal prompter", run: runOnTerminal },
  { name: "the plain-text prompter", run: runInLines },
  { name: "the scripted prompter", run: runScript },
];

async function runOnTerminal({ task, typed, isAborted }: Behaviour): Promise<unknown> {
  const screen = new PromptScreen(task, { columns: 100 });
  await screen.answer(...typed);
  if (isAborted === true) screen.abort();
  return await screen.result();
}

/** Types each line when the prompter asks for it, because it drops earlier input. */
async function runInLines({ task, lines, isAborted }: Behaviour): Promise<unknown> {
  const screen = new PromptProcess({ ...task, isPlain: true }, { columns: 100 });
  for (const [shown, keys] of lines) {
    await screen.untilLineAsked(shown);
    screen.type(keys);
  }
  if (isAborted === true) screen.abort();
  return await screen.result();
}

async function runScript({ task, script, isAborted }: Behaviour): Promise<unknown> {
  const abort = new AbortController();
  const held = holdPrompt<unknown, never>();
  const { reply } = held;
  const waiting = {
    answers: reply,
    forms: reply,
    permissions: reply,
    deliveries: reply,
    choices: reply,
  };
  const prompter = new ScriptedPrompter(script ?? waiting);
  const result = runPrompterTask(prompter, task, abort.signal);
  if (isAborted === true) {
    await held.opened;
    abort.abort();
  }
  return await result;
}
