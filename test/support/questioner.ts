/** Tools that do nothing but ask. */
import type { Executor } from "../../src/executor/index.ts";
import {
  type BuiltinTool,
  defineTool,
  type InquirySource,
  type Question,
} from "../../src/tool/index.ts";
import type { Json } from "../../src/util/index.ts";
import type { NamedExecutor } from "./tool-turn.ts";

/** Asks one question after the other, and gives all answers as JSON. */
export function questioner(name: string, ...questions: readonly Question[]): BuiltinTool {
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

/** Asks so many times, whatever it is told, and keeps the answers of each attempt. */
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
