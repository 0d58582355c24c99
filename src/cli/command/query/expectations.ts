/** The requirements of a run: every answer comes from `--answers`, and the data matches `--schema`. */
import path from "node:path";
import { type TurnEnd } from "../../../core/agent/index.ts";
import { pendingOf, readTurnProgress, lastTurn } from "../../../record/conversation/index.ts";
import { explainSchema } from "../../../reach/executor/index.ts";
import { AnswersFile } from "../../../assemble/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import { findJson, isJsonObject, JpError, type JsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { usageError } from "../../exit-status.ts";
import { readTextFile } from "./message.ts";

/** Throws what reading it throws. */
export async function readAnswers(
  answers: string | undefined,
  { cwd, environment }: CommandContext,
): Promise<AnswersFile | undefined> {
  if (answers === undefined) return undefined;
  return AnswersFile.read(path.resolve(cwd, answers), environment.variables);
}

/** Fails the run if the file and the turn do not match. Throws `answers_missing`, `answers_unused`. */
export function checkAnswers(
  answers: AnswersFile,
  { type }: TurnEnd,
  conversation: ConversationWriter,
) {
  if (type === "waiting") {
    const open = answers.explainOpen(pendingOf(readTurnProgress(lastTurn(conversation))));
    throw new JpError("answers_missing", open.join("\n"), {
      hint: "The turn is waiting. Fix the file, then run `jp query --continue-turn` with the same --answers.",
    });
  }
  const unused = type === "done" ? answers.explainUnused() : [];
  if (unused.length > 0) {
    throw new JpError("answers_unused", unused.join("\n"), {
      hint: "The turn is complete and saved, but it did not ask what the file expects.",
    });
  }
}

/** Reads JSON, or a file given as `@file`. Throws `usage`, `file_not_read`. */
export async function readSchema(words: string, { cwd }: CommandContext): Promise<JsonObject> {
  const isFile = words.startsWith("@");
  const text = isFile ? await readTextFile(path.resolve(cwd, words.slice(1))) : words;
  const where = isFile ? words.slice(1) : "--schema";
  const schema = findJson(text);
  if (!isJsonObject(schema)) {
    throw usageError(
      `${where}: not a JSON Schema.`,
      `Give one as JSON, or @file: --schema '{"type":"object","properties":{"answer":{"type":"string"}}}'`,
    );
  }
  const problem = await explainSchema(schema);
  if (problem === undefined) return schema;
  // Words from the command line may be quoted in the error. A file may be private, so its content may not.
  const shown = isFile && problem.quotes ? "the validator rejects it." : problem.message;
  throw usageError(`${where}: not a JSON Schema: ${shown}`);
}

/** Throws `no_structured_data` and `invalid_structured_data` if the turn ended without a matching answer. */
export function assertData(end: TurnEnd): void {
  if (end.type === "done" && end.reason === "length" && end.data === undefined) {
    throw new JpError(
      "no_structured_data",
      "The reply was cut off before its JSON was complete: it reached its maximum length.",
      { hint: "Raise `assistant.model.parameters.max_tokens`, or ask for less." },
    );
  }
  if (end.type !== "invalid_data") return;
  if (end.kind === "not_json") {
    throw new JpError("no_structured_data", "The model did not answer in JSON.", {
      hint: "Some models cannot. Try again, or choose another with -m.",
    });
  }
  const lines = end.problem.split("\n").map((line) => `- ${line}`);
  throw new JpError(
    "invalid_structured_data",
    `The answer does not fit the schema:\n${lines.join("\n")}`,
  );
}
