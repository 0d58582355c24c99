/** Tools that do nothing but ask. */
import type { Executor } from "../../reach/executor/index.ts";
import {
  type Tool,
  defineTool,
  type InquirySource,
  type Question,
} from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import type { Prompter } from "./index.ts";
import type { NamedExecutor } from "./tool-turn.fixture.ts";

/** Asks one question after the other, and returns all answers as JSON. */
export function questioner(name: string, ...questions: readonly Question[]): Tool {
  return defineTool({
    name,
    description: "",
    parameters: { type: "object" },
    run: async (_args, { ask }) => {
      const answers: Json[] = [];
      for (const question of questions) answers.push(await ask(question));
      return answers;
    },
  });
}

/** Asks a fixed number of times, regardless of the answers, and keeps the answers of each attempt. */
export class StubbornTool implements NamedExecutor {
  readonly name: string;
  readonly attempts: Readonly<Record<string, Json>>[] = [];
  readonly executor: Executor;

  constructor(name: string, plan: readonly Question[], source?: InquirySource) {
    this.name = name;
    this.executor = {
      attempt: async ({ answers, signal }) => {
        if (signal.aborted) return { type: "cancelled" };
        const question = plan[this.attempts.push(answers) - 1];
        if (question === undefined) return { type: "success", content: "done" };
        return { type: "needs_input", question, source: source ?? { source: "tool", name } };
      },
    };
  }
}

export function prompterThat(ask: Prompter["ask"], canAsk = () => true): Prompter {
  return { channel: "test", canAsk, ask };
}
