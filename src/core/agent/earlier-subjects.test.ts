/** Decisions on record whose subjects an earlier version made: they are compared in that version, as long as it could tell. */
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { digestCall, readTurnProgress } from "../../record/conversation/index.ts";
import {
  permission,
  permissionRequest,
  toolCall,
} from "../../record/conversation/events.fixture.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import type { ToolSource } from "../../record/tool/index.ts";
import { ToolCycle } from "./calls.ts";
import { toolboxOf, ToolTurn } from "./tool-turn.fixture.ts";

const SCRIPT = { path: "/deploy.sh", sha256: "11" };
const SHELL = { path: "/bin/sh", sha256: "22" };
/** The program of its `#!` line was not part of it. */
const SOURCE: ToolSource = {
  origin: { type: "local", command: "./deploy.sh" },
  program: [SCRIPT, SHELL],
  earlier: { program: SCRIPT },
};

/** A turn whose call waits for a permission, or has it, on record by an earlier version. Continues it. */
async function resume(isDecided: boolean, source: ToolSource) {
  const executor = { attempt: async () => ({ type: "success", content: "done" }) as const };
  const setting = { tools: [{ name: "x", executor }], config: { x: { run: "ask" } } };
  const script = { permissions: () => ({ type: "run" }) as const };
  const turn = await ToolTurn.start({ ...setting, script });
  const of = { toolCallId: "call_1", tool: "x" };
  const subject = digestCall(
    { conversation: turn.conversation.id, ...of, source: SOURCE, arguments: {} },
    {},
    { digest: "", version: 1, parts: {} },
  );
  const request = { ...permissionRequest("call_1"), ...of, arguments: {}, subject };
  await turn.conversation.append(toolCall("call_1", "x"), request);
  const decision = { ...permission("call_1"), ...of, id: request.id, digest: subject.digest };
  if (isDecided) await turn.conversation.append(decision);
  const recorded = turn.events.length;
  const base = toolboxOf(setting);
  const tools = {
    ...base,
    find: async (name: string, signal: AbortSignal) => {
      const found = await base.find(name, signal);
      return found && { ...found, describeSource: async () => source };
    },
  };
  const { calls } = readTurnProgress(turn.events);
  await new ToolCycle({ ...turn.parts, tools }, calls).run();
  return transcript(turn.events).slice(recorded);
}

const RAN = ["call_1 starts", "call_1 gives: done"];
const APPROVED = "call_1 approved (run)";
const ASKED = ["call_1 waits for permission (run)", APPROVED, ...RAN];

describe("a permission that an earlier version recorded", () => {
  test("counts, or is still waited for, though more files are part of its call by now", async () => {
    expect([await resume(true, SOURCE), await resume(false, SOURCE)]).toEqual([
      RAN,
      [APPROVED, ...RAN],
    ]);
  });

  test("is asked for again if a file has changed that it was about", async () => {
    counters("T-DECIDE-1");
    const program = { ...SCRIPT, sha256: "33" };
    const source = { ...SOURCE, program: [program, SHELL], earlier: { program } };
    const madeVoid = "call_1:run:1 no longer counts: program";
    expect([await resume(true, source), await resume(false, source)]).toEqual([
      [madeVoid, ...ASKED],
      [madeVoid, ...ASKED],
    ]);
  });

  test("is asked for again if it was about a file above 1 MB, whose content it did not have", async () => {
    counters("T-PROG-4");
    const source = { ...SOURCE, earlier: "incomparable" } as const;
    const madeVoid = "call_1:run:1 no longer counts: version";
    expect([await resume(true, source), await resume(false, source)]).toEqual([
      [madeVoid, ...ASKED],
      [madeVoid, ...ASKED],
    ]);
  });
});
