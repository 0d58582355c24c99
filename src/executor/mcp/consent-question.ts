/** What can only be agreed to: a form without fields, or to go to an address. Only a person can. */
import { booleanQuestion, type Question } from "../../tool/index.ts";
import { shortLine, shortText } from "./foreign-text.ts";

const BY_PERSON = { exclusive: true, persistence: "none" } as const;

export function consentQuestion(id: string, message: string): Question {
  return booleanQuestion(id, "Do you agree?", { ...BY_PERSON, context: shortText(message) });
}

export interface Visit {
  readonly message: string;
  readonly url: URL;
  /** The tool runs only after it. */
  readonly isPrerequisite: boolean;
}

/** The address is shown as it is looked up, not as it was written: letters of other scripts look alike. */
export function visitQuestion(id: string, { message, url, isPrerequisite }: Visit): Question {
  const text = isPrerequisite
    ? `Have you been to ${url.host}?`
    : `Do you want to go to ${url.host}?`;
  const consequence = isPrerequisite
    ? "It is not opened for you. With yes the tool is run again."
    : "It is not opened for you. With yes the server is told that you agree.";
  const context = [shortText(message), `Address: ${url.href}\nHost: ${url.host}`, consequence].join(
    "\n\n",
  );
  return booleanQuestion(id, shortLine(text), { ...BY_PERSON, context });
}
