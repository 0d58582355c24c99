import { inspect } from "node:util";
import { expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { judgeAnswer, SecretAnswer } from "./answers.ts";
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

test("an answer to a question for one person counts only from that person", () => {
  const question = { ...inquiry("c.ok.1"), toolCallId: "c", for: "Ada" };
  const turn = [turnStart(), toolCall("c"), attemptStart("c"), question];
  const judge = (name?: string) => {
    const answeredBy = {
      kind: "user",
      channel: "desk",
      ...(name !== undefined && { name }),
    } as const;
    const answer = { outcome: "answered", answer: true, answeredBy } as const;
    return judgeAnswer(turn, { event: closed("c.ok.1", answer) }, false);
  };
  const refused = { type: "refused", reason: "only Ada can answer this" };
  expect([judge("sam"), judge("adam"), judge("")]).toEqual([refused, refused, refused]);
  expect(judge()).toEqual(refused);
  expect([judge("Ada").type, judge("ADA").type, judge("ada ").type]).toEqual(Array(3).fill("fits"));
  const cancelled = closed("c.ok.1", { outcome: "cancelled", reason: "user" });
  expect(judgeAnswer(turn, { event: cancelled }, false).type).toBe("fits");
});

test("a secret does not show when it is printed, cloned or turned into JSON", () => {
  counters("T-SEC-10");
  const secret = new SecretAnswer("s3cret", "s3cret");
  const error = new Error("It failed.", { cause: { secret } });
  const printed = [secret, { secret }, error].flatMap((value) => [
    inspect(value, { showHidden: true, depth: null }),
    JSON.stringify(value),
    inspect(structuredClone(value)),
  ]);
  expect(printed.filter((text) => text.includes("s3cret"))).toEqual([]);
  expect(secret.reveal()).toEqual({ answer: "s3cret", note: "s3cret" });
});
