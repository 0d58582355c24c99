import { expect, test } from "vitest";
import { plainMenu } from "./plain-questions.ts";

const MENU = {
  message: "Apply it?",
  choices: [
    { key: "y", label: "yes" },
    { key: "n", label: "no" },
  ],
  noKey: "n",
  escape: "cancel",
} as const;

test.each([
  ["a", "yes to all edits", "a"],
  ["an abort", undefined, undefined],
])("the word all stands for the key a only where that covers more: %s", (label, covers, choice) => {
  const choices = [...MENU.choices, { key: "a", label, ...(covers !== undefined && { covers }) }];
  const reading = plainMenu<string>({ ...MENU, choices }).readLine("all");
  expect("ending" in reading ? reading.ending : reading.type).toEqual(
    choice === undefined ? "again" : { type: "chosen", choice },
  );
});

test.each([
  ["the next message", true, "what to do instead"],
  ["only the reason, where there is no one to send them to", false, "why not"],
])("words at a yes or no are %s", (_what, sendsWords, asked) => {
  const question = plainMenu({ ...MENU, sendsWords });
  expect([question.hint, question.readLine("use sed")]).toEqual([
    `Type yes or no and press Enter, or say ${asked}.`,
    expect.objectContaining({
      ending: { type: "said_no", text: "use sed", isMessage: sendsWords },
    }),
  ]);
});
