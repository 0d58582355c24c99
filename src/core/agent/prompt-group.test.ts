import { expect, test } from "vitest";
import type { InquiryId } from "../../record/conversation/index.ts";
import type { PermissionRequest, PromptRequest, PromptResult } from "./ports.ts";
import { prompterThat } from "./questioner.fixture.ts";
import { PromptGroup } from "./prompt-group.ts";

const { signal } = new AbortController();

/** Only what a group looks at. */
function request(inquiryId: string): PermissionRequest {
  return { kind: "permission", inquiryId, signal } as unknown as PermissionRequest;
}

/** Keeps what it is asked, and says yes to everything. */
function person() {
  const asked: (readonly string[])[] = [];
  const ask = async (given: PromptRequest): Promise<PromptResult> => {
    const calls = given.kind === "permissions" ? given.calls : [given];
    asked.push(calls.map(({ inquiryId }) => inquiryId));
    const results = calls.map(({ inquiryId }): PromptResult => ({
      inquiryId,
      type: "answered",
      answer: true,
    }));
    const [first] = results;
    if (given.kind !== "permissions" && first !== undefined) return first;
    return { type: "form", inquiryId: "any" as InquiryId, results };
  };
  return { asked, prompter: prompterThat(ask) };
}

test("a group asks in the order of its members, whichever of them is ready first", async () => {
  const { asked, prompter } = person();
  const group = new PromptGroup();
  const [first, second, third] = [group.join(), group.join(), group.join()];
  const results = [third.ask(request("c"), prompter), first.ask(request("a"), prompter)];
  expect(asked).toEqual([]);
  results.push(second.ask(request("b"), prompter));
  const given = await Promise.all(results);
  expect(asked).toEqual([["a", "b", "c"]]);
  expect(given.map((result) => result?.inquiryId)).toEqual(["c", "a", "b"]);
});

test("a group of which all but one leave asks about that one alone", async () => {
  const { asked, prompter } = person();
  const group = new PromptGroup();
  const [first, second] = [group.join(), group.join()];
  const result = second.ask(request("b"), prompter);
  first.leave();
  expect((await result)?.inquiryId).toBe("b");
  second.leave();
  expect(asked).toEqual([["b"]]);
});

test("a group that cannot ask tells each of its members", async () => {
  const prompter = prompterThat(() => Promise.reject(new Error("no screen")));
  const group = new PromptGroup();
  const members = [group.join(), group.join()];
  const results = members.map((member, index) => member.ask(request(`${index}`), prompter));
  for (const result of results) await expect(result).rejects.toThrow("no screen");
});
