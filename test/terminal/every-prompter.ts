/** The prompters that there are, each with its own way of being answered. */
import { holdPrompt, type PrompterScript, ScriptedPrompter } from "../../src/testing/index.ts";
import { PromptProcess, PromptScreen } from "../support/prompt-screen.ts";
import { type PrompterTask, runPrompterTask } from "../support/prompter-task.ts";

export interface Behaviour {
  readonly title: string;
  readonly task: PrompterTask;
  /** How a person at a terminal does it: what is seen, and then typed. */
  readonly typed: readonly (readonly [shown: string, keys: string])[];
  /** How it is done where everything is a line of text. */
  readonly lines: readonly (readonly [shown: string, keys: string])[];
  /** How a script does it; one that is held open without it. */
  readonly script?: PrompterScript;
  /** The signal comes when the prompt is open. */
  readonly isAborted?: true;
  readonly result: object;
}

export const PROMPTERS: readonly {
  readonly name: string;
  readonly run: (behaviour: Behaviour) => Promise<unknown>;
}[] = [
  { name: "the terminal", run: runOnTerminal },
  { name: "a terminal in lines of text", run: runInLines },
  { name: "a script", run: runScript },
];

async function runOnTerminal({ task, typed, isAborted }: Behaviour): Promise<unknown> {
  const screen = new PromptScreen(task, { columns: 100 });
  await screen.answer(...typed);
  if (isAborted === true) screen.abort();
  return await screen.result();
}

/** A line is typed when it is asked for: what comes before is dropped. */
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
