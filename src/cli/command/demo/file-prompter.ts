/** Where there is no terminal, the answers of the tour come from a file. */
import { readFileSync } from "node:fs";
import type { Prompter } from "../../../agent/index.ts";
import { jsonLine, neutralize, oneLine } from "../../../render/index.ts";
import type { InquiryQuestion } from "../../../tool/index.ts";
import { isJsonObject, type Json } from "../../../util/index.ts";

/** Takes them one after the other; a question for which there is none is cancelled. */
export function createFilePrompter(file: string, notice: (line: string) => void): Prompter {
  const answers = JSON.parse(readFileSync(file, "utf8")) as Json[]; // We have written it.
  return {
    channel: "file",
    canAsk: () => true,
    ask: async ({ inquiryId, question }) => {
      const next = answers.shift();
      if (next === undefined) return { type: "cancelled", inquiryId };
      const { answer = null, isRemembered } = isJsonObject(next) ? next : { answer: next };
      for (const line of describe(question, answer)) notice(line);
      return { type: "answered", inquiryId, answer, isRemembered: isRemembered === true };
    },
    askPermission: async () => ({ type: "run", isRemembered: false }),
    askDelivery: async () => ({ type: "deliver" }),
  };
}

/** What somebody at a terminal would have seen. */
function describe({ text, context, answerType }: InquiryQuestion, answer: Json): readonly string[] {
  const said = answerType.type === "secret" ? "<redacted>" : jsonLine(answer);
  return [
    ...(context === undefined ? [] : neutralize(context.trimEnd()).split("\n")),
    `✔ ${oneLine(text)} ${said}, from the file`,
  ];
}
