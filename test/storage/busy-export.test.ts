/** Evidence of conversations that other processes write, rename, archive and fork meanwhile. */
import { expect, test } from "vitest";
import { exportEvidence } from "../../src/proof/index.ts";
import { generateSigner } from "../../src/proof/machine-key.ts";
import {
  chatRequest,
  permission,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import type { ConversationId } from "../../src/record/conversation/index.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { ChildProgram } from "../support/child-program.ts";

const CONVERSATIONS = 200;
const ROUNDS = Number(process.env["JP_EXPORT_ROUNDS"] ?? 5);
const MAX_MS = 120_000 + ROUNDS * 30_000;

interface Statement {
  readonly predicateType: string;
  readonly predicate: { readonly conversation?: string; readonly code?: string };
}

test(
  "an export has every conversation, and finds no fault with it, while others write to them",
  { timeout: MAX_MS },
  async () => {
    const { root, data, conversations } = temporaryWorkspace();
    const ids: ConversationId[] = [];
    for (let index = 0; index < CONVERSATIONS; index += 1) {
      await using writer = await conversations.create({ title: `number ${index}` });
      await writer.append(turnStart(), chatRequest("Go."), permission("call_0"));
      ids.push(writer.id);
    }
    const writers = [1, 2, 3].map((seed) =>
      ChildProgram.ofTests("busy-writers-program.ts", root, data, String(seed), ...ids),
    );
    await Promise.all(writers.map((writer) => writer.nextLine()));
    const signer = generateSigner();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const writer of writers) writer.tell("go on");
      const listed = await conversations.list({ which: "all" });
      const statements: Statement[] = [];
      const summary = await exportEvidence(
        {
          store: conversations,
          conversations: listed.map(({ id }) => id),
          signer,
          clock: new FakeClock(),
          tool: "jp 0.0.0-test",
        },
        (line) => void statements.push(statementIn(line)),
      );
      const exported = new Set(summary.conversations.map(({ conversation }) => conversation));
      expect(ids.filter((id) => !exported.has(id))).toEqual([]);
      expect(summary.broken).toEqual([]);
      // A decision's link is written after it. Forks are removed at any moment.
      const findings = statements.filter(
        ({ predicateType, predicate: { conversation, code } }) =>
          predicateType.includes(":finding:") &&
          code !== "link_pending" &&
          ids.some((id) => id === conversation),
      );
      expect(findings).toEqual([]);
    }
  },
);

function statementIn(line: string): Statement {
  const { payload } = JSON.parse(line) as { readonly payload: string };
  return JSON.parse(Buffer.from(payload, "base64").toString("utf8")) as Statement;
}
