/** `--answers`: reads the file, and checks that the turn has used what it says. */
import path from "node:path";
import { lastTurn, type TurnEnd } from "../../../agent/index.ts";
import { pendingOf, readTurnProgress } from "../../../conversation/index.ts";
import { AnswersFile } from "../../../runtime/index.ts";
import type { ConversationWriter } from "../../../storage/index.ts";
import { JpError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";

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
