/** Calls a tool as jp does: each attempt gets the answers so far, each with the binding of its question as it was asked. */
import type { Outcome, Tool, ToolCall } from "../../../../record/tool/index.ts";
import type { JsonObject } from "../../../../util/index.ts";

export interface AskedTool {
  /** One attempt without answers. Its question is recorded. */
  ask(args: JsonObject): Promise<Outcome>;
  /** The next attempt, with this answer to every question that was recorded, and no other one. Asks first if none was. */
  answer(args: JsonObject, answer: boolean, more?: Partial<ToolCall>): Promise<Outcome>;
}

/** `create` makes the tool anew for each attempt, as another process does. */
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
