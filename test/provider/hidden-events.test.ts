import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import { PROVIDER_NAMES } from "../../src/reach/provider/index.ts";
import { verifies } from "../conformance/manifest.ts";
import {
  answered,
  chatRequest,
  inquiry,
  message,
  permission,
  toolCall,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import { bodySentTo, requestOf } from "./support.ts";

const CANARY = "canary-that-no-model-may-see";

/** A tool call with all the internal data that may surround it. */
const withInternals: readonly ConversationEvent[] = [
  turnStart(),
  { ...chatRequest("Change it."), author: CANARY, metadata: { cache_breakpoint: true, x: CANARY } },
  {
    ...toolCall("call_a", "edit"),
    metadata: { rendered_arguments: CANARY },
    extra: { tool_answers: { apply: CANARY } },
  },
  { ...permission("call_a"), reason: CANARY },
  inquiry("call_a.apply.1", { text: `${CANARY}?`, context: CANARY }),
  answered("call_a.apply.1", CANARY),
  { ...toolResult("call_a", "Changed."), extra: { note: CANARY } },
  message("Done."),
  inquiry("call_b.late.1", { text: CANARY }),
  turnStart(),
  chatRequest("Thanks."),
];
const plain: readonly ConversationEvent[] = [
  turnStart(),
  chatRequest("Change it."),
  toolCall("call_a", "edit"),
  toolResult("call_a", "Changed."),
  message("Done."),
  turnStart(),
  chatRequest("Thanks."),
];

test.each(PROVIDER_NAMES)(
  "no provider sees inquiries, permission decisions or internal data: %s",
  async (provider) => {
    verifies("005/visibility/inquiry-events-hidden", "005/visibility/turn-markers-hidden");
    verifies("005/goal/provider-contract-intact", "005/provider/all-consume-thread-parts");
    verifies("005/provider/flat-list-users-get-filtering");
    verifies("028/tool-answers/never-shown-to-the-model");
    const options = { cache: "off" } as const;
    const body = await bodySentTo(provider, requestOf(withInternals, options));
    expect(JSON.stringify(body)).not.toContain(CANARY);
    expect(body).toEqual(await bodySentTo(provider, requestOf(plain, options)));
  },
);

const sources = globSync("src/reach/provider/**/*.ts")
  .filter((file) => !file.endsWith(".test.ts"))
  .map((file) => ({ file, text: readFileSync(file, "utf8") }));

function filesMentioning(pattern: RegExp): readonly string[] {
  return sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);
}

test("no provider mentions a kind of event that it must not see", () => {
  verifies("005/provider/no-filters-of-their-own", "005/goal/no-provider-regression");
  expect(filesMentioning(/inquiry_|permission_decision|turn_start|isProviderVisible/)).toEqual([]);
});

test("providers reach the events of a conversation only through its parts", () => {
  verifies("005/thread/no-way-around-the-filter");
  expect(
    filesMentioning(/ConversationStream|ConversationEvent|StreamEntry|eventsOf|\bThread\b/),
  ).toEqual([]);
});

test("only the request builder counts cache points, and the parts of a thread have none", () => {
  verifies("005/provider/anthropic-budget-is-its-own");
  const counting = globSync("src/**/*.ts").filter((file) =>
    /MAX_POINTS|[cC]achePoints/.test(readFileSync(file, "utf8")),
  );
  const { parts } = requestOf(withInternals, { systemPrompt: "Prompt.", cache: "short" });
  expect({
    counting: counting.toSorted(),
    parts: Object.keys(parts),
    systemParts: parts.systemParts,
  }).toEqual({
    counting: ["src/reach/provider/cache-points.ts", "src/reach/provider/request.ts"],
    parts: ["systemParts", "events"],
    systemParts: [{ tag: "prompt", text: "Prompt." }],
  });
});
