/** `jp evidence`, from decisions in a workspace to what a verifier says of them. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import { REST, WAITING } from "../../src/storage/open-question.fixture.ts";
import { openWorkspace } from "../../src/storage/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { counters } from "../security/threats.ts";
import { type Finished, jsonLines, Project } from "./support.ts";

/** A project with one conversation in which something was asked, answered and done. */
async function decided(): Promise<{ readonly project: Project; readonly id: string }> {
  const project = new Project();
  const { conversations } = openWorkspace({
    from: project.root,
    environment: { variables: project.variables, home: project.home, platform: process.platform },
    clock: new FakeClock(new Date("2026-01-02T03:04:05Z")),
    pid: process.pid,
  });
  await using writer = await conversations.create({ title: "Deploy" });
  await writer.append(...WAITING, ...REST);
  return { project, id: writer.id };
}

function fileIn(project: Project): string {
  return path.join(project.root, "evidence.jsonl");
}

async function keyIdOf(project: Project): Promise<string> {
  const [{ id }] = jsonLines(await project.jp("evidence", "key", "-F", "json")) as [{ id: string }];
  return id;
}

describe("evidence", () => {
  test("can be exported to a file, and verified against the key of the machine", async () => {
    const { project } = await decided();
    const exported = await project.jp("evidence", "export", "-o", "evidence.jsonl");
    const keyId = await keyIdOf(project);
    expect(exported).toEqual({
      status: 0,
      stdout: "",
      stderr: `Exported 4 links of 1 conversation, signed with key ${keyId}.\n`,
    });
    const { status, stdout } = await project.jp(
      "evidence",
      "verify",
      "evidence.jsonl",
      "--key",
      keyId,
    );
    expect([status, stdout.split("\n").slice(0, 2)]).toEqual([
      0,
      [
        expect.stringMatching(
          /^Verified: 6 statements with 4 links of 1 conversation, made at \S+ by jp 0.0.0-test\.$/,
        ),
        `Signed with the expected key, ${keyId}.`,
      ],
    ]);
    expect(verifyAlone(readFileSync(fileIn(project)), keyId)).toMatchObject({
      problems: [],
      isKeyExpected: true,
      links: 4,
    });
  });

  test("is self-signed for whoever does not say which key to expect", async () => {
    const { project } = await decided();
    await project.jp("evidence", "export", "-o", "evidence.jsonl");
    const { status, stdout } = await project.jp("evidence", "verify", "evidence.jsonl");
    expect([status, stdout]).toEqual([0, expect.stringContaining(`Self-signed, with key`)]);
    expect(stdout).toContain("a key, not a person");
  });
});
