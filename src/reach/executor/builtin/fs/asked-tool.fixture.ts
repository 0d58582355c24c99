/** Calls a tool as jp does: each attempt gets the answers so far, with the binding that each question was asked with. */
import type { Outcome, Tool, ToolCall } from "../../../../record/tool/index.ts";
import type { JsonObject } from "../../../../util/index.ts";

export interface AskedTool {
  /** Makes one attempt without answers, and records its questions. */
  ask(args: JsonObject): Promise<Outcome>;
  /** Makes the next attempt, with this answer to every recorded question. Asks first if none is recorded. */
  answer(args: JsonObject, answer: boolean, more?: Partial<ToolCall>): Promise<Outcome>;
}

/** `create` makes a new tool for each attempt, like another process would. */
export function askedTool(create: () => Tool): AskedTool {
  const bindings = new Map<string, string>();
  const attempt = async (call: Pick<ToolCall, "arguments" | "answers"> & Partial<ToolCall>) => {
    const { signal } = new AbortController();
    const outcome = await create().execute({ signal, ...call });
    if (outcome.type !== "needs_input") return outcome;
    const { question, more = [] } = outcome;
    for (const { id, binding = "" } of [question, ...more]) bindings.set(id, binding);
    return outcome;
  };
  const ask = (args: JsonObject) => attempt({ arguments: args, answers: {} });
  return {
    ask,
    answer: async (args, answer, more = {}) => {
      const first = bindings.size === 0 ? await ask(args) : undefined;
      if (first !== undefined && first.type !== "needs_input") return first;
      const answers = Object.fromEntries([...bindings.keys()].map((id) => [id, answer]));
      return attempt({
        arguments: args,
        answers,
        bindings: Object.fromEntries(bindings),
        ...more,
      });
    },
  };
}
