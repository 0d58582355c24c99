/** Forged exports as people would make and check them: a record on disk, `jp evidence export`, and both verifiers as commands. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { toolCall, turnStart } from "../../src/record/conversation/events.fixture.ts";
import {
  type ChainLine,
  chainLineToText,
  type ConversationId,
  type StreamEntry,
} from "../../src/record/conversation/index.ts";
import { publicPartToJson } from "../../src/settings/people/index.ts";
import { type ChainProblem, openWorkspace } from "../../src/stores/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { type JsonObject, sha256 } from "../../src/util/index.ts";
import { jsonLines, Project } from "../cli/support.ts";
import { Draw, eventsOf, FORMS, genuine, type Story } from "./forgeries.ts";

const VERIFIER = path.join(import.meta.dirname, "../../examples/evidence-verifier/verify.ts");

/** A project with this in a record, as jp writes it, and these people. */
async function projectWith(story: Story): Promise<Project> {
  const project = new Project();
  const { root, home, variables } = project;
  mkdirSync(project.data, { recursive: true });
  const people = story.keys.map(({ person, key }) => ({
    name: person,
    rights: ["see"],
    keys: [{ ...publicPartToJson(key), added: "2026-01-01T00:00:00.000Z" }],
    token_sha256: sha256(person),
  }));
  writeFileSync(path.join(project.data, "people.json"), JSON.stringify({ people }), {
    mode: 0o600,
  });
  const { conversations } = openWorkspace({
    from: root,
    environment: { variables, home, platform: process.platform },
    clock: new FakeClock("2026-01-02T03:04:05Z"),
    pid: process.pid,
  });
  let id: ConversationId;
  {
    await using writer = await conversations.create({ title: "Deploy" });
    await writer.append(turnStart(), toolCall("a"), ...eventsOf(story));
    ({ id } = writer);
  }
  if (story.rewrite === undefined) return project;
  const entries: StreamEntry[] = [];
  for await (const piece of conversations.scan(id)) entries.push(...piece.entries);
  const chain: (ChainLine | ChainProblem)[] = [];
  for await (const line of conversations.readChain?.(id) ?? []) chain.push(line);
  const kept = story.rewrite({ id, entries, chain });
  const events = (await project.jp("conversation", "path", "--events", id)).stdout.trim();
  writeFileSync(events, withEntries(readFileSync(events, "utf8"), kept.entries));
  const lines = kept.chain.flatMap((line) => ("link" in line ? [chainLineToText(line)] : []));
  writeFileSync(path.join(path.dirname(events), "decisions.jsonl"), lines.join(""));
  return project;
}

/** The record with other entries in the place of those with the same id and type. */
function withEntries(text: string, entries: readonly StreamEntry[]): string {
  const elements = JSON.parse(text) as readonly JsonObject[];
  const changed = elements.map((element) => {
    const isSame = ({ raw }: StreamEntry) =>
      raw["id"] !== undefined && raw["id"] === element["id"] && raw["type"] === element["type"];
    return entries.find(isSame)?.raw ?? element;
  });
  return JSON.stringify(changed);
}

/** What `jp evidence verify` and the other verifier say, both as commands. */
async function verdictsOn(project: Project, hasContent: boolean) {
  const file = path.join(project.root, "evidence.jsonl");
  const content = hasContent ? ["--content"] : [];
  const exported = await project.jp("evidence", "export", "-o", file, ...content);
  expect(exported.status).toBe(0);
  const [{ id: key }] = jsonLines(await project.jp("evidence", "key", "-F", "json")) as [
    { id: string },
  ];
  const own = await project.jp("evidence", "verify", file, "--key", key, "-F", "json");
  const other = await promisify(execFile)(process.execPath, [VERIFIER, file, key]).then(
    ({ stdout }) => ({ status: 0, stdout }),
    (error: { readonly code: number; readonly stdout: string }) => ({
      status: error.code,
      stdout: error.stdout,
    }),
  );
  const [{ problems }] = jsonLines(own) as [
    { problems: readonly { code: string; rulings?: Readonly<Record<string, number>> }[] },
  ];
  const [alone] = jsonLines({ ...other, stderr: "" }) as [{ problems: unknown; unmet: unknown }];
  const { rulings = {} } = problems.find(({ code }) => code === "terms_not_met") ?? {};
  return [
    { status: own.status, problems: problems.map(({ code }) => code).toSorted(), unmet: rulings },
    { status: other.status, problems: alone.problems, unmet: alone.unmet },
  ] as const;
}

test("decisions that meet their terms are verified by both commands", async () => {
  const story = genuine(new Draw(1), { isSigned: true });
  const verified = { status: 0, problems: [], unmet: {} };
  expect(await verdictsOn(await projectWith(story), true)).toEqual([verified, verified]);
});

test.each(Object.entries(FORMS))(
  "both commands exit with 1, and say why: %s",
  async (name, { needs, rulings, problems = [], forge }) => {
    const draw = new Draw(name.length);
    const story = forge(genuine(draw, needs), draw);
    const [own, other] = await verdictsOn(await projectWith(story), story.hasContent);
    expect(other).toEqual(own);
    const expected = [...problems, ...(rulings.length > 0 ? ["terms_not_met"] : [])];
    expect(own).toMatchObject({ status: 1, problems: expect.arrayContaining(expected) as unknown });
    // A form without rulings is found by other problems, whatever else is found.
    const [ruling] = Object.keys(own.unmet);
    expect(rulings.length > 0 ? rulings : [ruling]).toContain(ruling);
  },
);
