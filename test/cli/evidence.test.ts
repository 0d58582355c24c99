/** `jp evidence`, from decisions in a workspace to what a verifier says of them. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { verify as verifyAlone } from "../../examples/evidence-verifier/verify.ts";
import { answerBy, REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { openWorkspace } from "../../src/stores/index.ts";
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
  await writer.append(...WAITING, answerBy("Ana"), ...REST.slice(1));
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
    expect(stdout).toContain("it proves a key, not a person");
  });

  test("is refused with the reason if it was changed, as text and as JSON", async () => {
    counters("T-PROOF-1");
    const { project } = await decided();
    await project.jp("evidence", "export", "-o", "evidence.jsonl");
    const lines = readFileSync(fileIn(project), "utf8").split("\n");
    writeFileSync(fileIn(project), lines.toSpliced(2, 1).join("\n"));
    expect(await project.jp("evidence", "verify", "evidence.jsonl")).toEqual({
      status: 1,
      stdout:
        "Not verified. It proves nothing.\n" +
        "- line 3: one or more statements before this one are missing (missing)\n",
      stderr: "",
    });
    const finished = await project.jp("evidence", "verify", "evidence.jsonl", "-F", "json");
    expect(jsonLines(finished)).toMatchObject([
      { verified: false, problems: [{ code: "missing", line: 3, count: 1 }] },
    ]);
  });

  test("is refused if another machine has signed it, and the key is known", async () => {
    counters("T-PROOF-2");
    const { project } = await decided();
    const { project: other } = await decided();
    await other.jp("evidence", "export", "-o", "evidence.jsonl");
    const pem = await project.jp("evidence", "key", "-F", "pem");
    writeFileSync(path.join(other.root, "key.pem"), pem.stdout);
    const finished = await other.jp("evidence", "verify", "evidence.jsonl", "--key", "key.pem");
    expect(finished).toMatchObject({ status: 1, stdout: expect.stringContaining("(wrong_key)") });
  });

  test("has no contents unless they are asked for, and then what was asked and answered", async () => {
    counters("T-PROOF-4");
    const { project } = await decided();
    const bare = payloadsOf(await project.jp("evidence", "export"));
    expect([bare.includes('"question":{'), bare.includes("salt")]).toEqual([false, false]);
    await project.jp("evidence", "export", "--content", "-o", "evidence.jsonl");
    const finished = await project.jp("evidence", "verify", "evidence.jsonl", "-F", "json");
    expect(jsonLines(finished)).toMatchObject([{ verified: true, content: true, contents: 3 }]);
    expect(readFileSync(fileIn(project), "utf8")).not.toBe("");
  });

  test("says which decisions of the record are not as they were", async () => {
    counters("T-PROOF-3");
    const { project, id } = await decided();
    const events = (await project.jp("conversation", "path", "--events", id)).stdout.trim();
    const text = readFileSync(events, "utf8");
    writeFileSync(events, text.replace('"outcome": "answered"', '"outcome": "redacted"'));
    const { stderr } = await project.jp("evidence", "export", "-o", "evidence.jsonl");
    expect(stderr.split("\n").slice(1)).toEqual([
      "warning: links whose event was changed in the record or removed from it: 1 (event_missing)",
      "warning: events without a link, between others that have one: 1 (link_missing)",
      "",
    ]);
    const { stdout } = await project.jp("evidence", "verify", "evidence.jsonl");
    expect(stdout.split("\n").slice(-4)).toEqual([
      "Reported in the export:",
      "- links whose event was changed in the record or removed from it: 1 (event_missing)",
      "- events without a link, between others that have one: 1 (link_missing)",
      "",
    ]);
  });

  test("is written to a new file that only its owner can read", async () => {
    const { project } = await decided();
    await project.jp("evidence", "export", "-o", "evidence.jsonl");
    expect(statSync(fileIn(project)).mode & 0o777).toBe(0o600);
    const again = await project.jp("evidence", "export", "-o", "evidence.jsonl");
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining("EEXIST") });
  });

  test("has only conversations that were chosen", async () => {
    const { project, id } = await decided();
    const count = async (...words: readonly string[]) =>
      (await project.jp("evidence", "export", ...words)).stderr.split(",")[0];
    expect([
      await count("--conversation", id),
      await count("--since", "2026-01-01"),
      await count("--since", "1h"),
    ]).toEqual([
      "Exported 4 links of 1 conversation",
      "Exported 4 links of 1 conversation",
      "Exported 0 links of 0 conversations",
    ]);
  });

  test("has a conversation that is damaged, whenever its last event was", async () => {
    const { project, id } = await decided();
    const folder = (await project.jp("conversation", "path", id)).stdout.trim();
    writeFileSync(path.join(folder, "events.json"), "damaged");
    const { stderr } = await project.jp("evidence", "export", "--since", "1h");
    expect(stderr).toContain("Exported 4 links of 1 conversation");
    expect(stderr).toContain("unreadable_record");
  });

  test("can be reported on, from the workspace or from a file", async () => {
    const { project, id } = await decided();
    const csv = await project.jp("evidence", "report", "--format", "csv");
    const [, row] = csv.stdout.split("\n");
    expect(row).toMatch(new RegExp(`^${id}/2,question,,answered,user,Ana,cli,os_user,`));
    await project.jp("evidence", "export", "-o", "evidence.jsonl");
    expect(await project.jp("evidence", "report", "evidence.jsonl", "--format", "csv")).toEqual(
      csv,
    );
    const { stdout } = await project.jp("evidence", "report", "--by", "policy");
    expect(stdout).toContain("0 of 0 decisions");
  });

  test("that is not verified is not reported on", async () => {
    const { project } = await decided();
    await project.jp("evidence", "export", "-o", "evidence.jsonl");
    writeFileSync(fileIn(project), readFileSync(fileIn(project), "utf8").trimEnd());
    expect(await project.jp("evidence", "report", "evidence.jsonl")).toEqual({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining("evidence.jsonl is not verified: truncated in line 6."),
    });
  });

  test("of a file that is not there, or with a key that is none, is an error", async () => {
    const { project } = await decided();
    const missing = await project.jp("evidence", "verify", "evidence.jsonl");
    const noKey = await project.jp("evidence", "verify", "evidence.jsonl", "--key", "mine");
    expect([missing, noKey]).toMatchObject([
      { status: 1, stderr: expect.stringContaining("evidence.jsonl could not be read: ENOENT.") },
      { status: 2, stderr: expect.stringContaining("Not a key: mine") },
    ]);
  });
});

/** Of all lines. */
function payloadsOf({ stdout }: Finished): string {
  const lines = stdout.split("\n").filter((line) => line !== "");
  const payloads = lines.map((line) => (JSON.parse(line) as { payload: string }).payload);
  return payloads.map((payload) => Buffer.from(payload, "base64").toString("utf8")).join("\n");
}
