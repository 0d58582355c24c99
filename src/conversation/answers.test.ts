import { expect, test } from "vitest";
import { judgeAnswer } from "./answers.ts";
import { at, attemptStart, closed, inquiry, toolCall, turnStart } from "./events.fixture.ts";

test("an answer from elsewhere counts only before the deadline", () => {
  const question = { ...inquiry("c.ok.1"), toolCallId: "c", deadline: at(20) };
  const turn = [turnStart(), toolCall("c"), attemptStart("c"), question];
  const answeredBy = { kind: "user", channel: "cli" } as const;
  const answer = closed("c.ok.1", { outcome: "answered", answer: true, answeredBy });
  const judged = [19, 20, 21].map((second) =>
    judgeAnswer(turn, { event: { ...answer, timestamp: at(second) } }, false),
  );
  expect(judged.map(({ type }) => type)).toEqual(["fits", "overdue", "overdue"]);
});
