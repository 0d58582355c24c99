/** `jp evidence anchor`, from the user's own config to what a verifier says of the anchors. */
import { execFileSync } from "node:child_process";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createAuthority, serveAuthority, useOpenssl } from "../../src/proof/authority.fixture.ts";
import { answerBy, REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { isJsonObject } from "../../src/util/index.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject } from "./query-project.ts";
import { type Finished, jsonLines, Project } from "./support.ts";

/** A project in which something was decided, with the user's own config. */
class AnchoredProject {
  readonly project = new Project();
  readonly variables: Readonly<Record<string, string>>;

  constructor(anchor: string) {
    const folder = path.join(this.project.home, "config");
    mkdirSync(folder);
    writeFileSync(path.join(folder, "config.toml"), `[proof.anchor]\n${anchor}\n`);
    this.variables = { JP_GLOBAL_CONFIG_DIR: folder };
  }

  async decide(): Promise<this> {
    const { root, home, variables } = this.project;
    const { conversations } = openWorkspace({
      from: root,
      environment: { variables, home, platform: process.platform },
      clock: new FakeClock("2026-01-02T03:04:05Z"),
      pid: process.pid,
    });
    await using writer = await conversations.create({ title: "Deploy" });
    await writer.append(...WAITING, answerBy("Ana"), ...REST.slice(1));
    return this;
  }

  jp(...words: readonly string[]): Promise<Finished> {
    return this.project.jpWith(this.variables, ...words);
  }
}

function bareRepository({ home }: Project): string {
  const folder = path.join(home, "anchors.git");
  execFileSync("git", ["init", "-q", "--bare", folder]);
  return folder;
}

describe("anchoring", () => {
  test("commits to a git repository, and an export proves it to whoever has a clone", async () => {
    const anchored = new AnchoredProject('git = "/nowhere"');
    const remote = bareRepository(anchored.project);
    const file = path.join(anchored.variables["JP_GLOBAL_CONFIG_DIR"] ?? "", "config.toml");
    writeFileSync(file, `[proof.anchor]\ngit = "${remote}"\n`);
    await anchored.decide();
    const made = await anchored.jp("evidence", "anchor", "--format", "json");
    const [{ commit, sha256 }] = jsonLines(made) as [{ commit: string; sha256: string }];
    expect(made).toMatchObject({ status: 0, stderr: "" });
    const again = await anchored.jp("evidence", "anchor");
    expect(again.stdout).toMatch(/^Nothing new to anchor since \S+Z\.\n$/);
    const exported = await anchored.jp("evidence", "export", "-o", "evidence.jsonl");
    expect(exported.stderr).toContain("4 links of 1 conversation and 1 anchor, signed");
    const verify = (...words: readonly string[]) =>
      anchored.jp("evidence", "verify", "evidence.jsonl", ...words);
    expect((await verify()).stdout).toContain(`Its file must have the digest ${sha256}.`);
    const { stdout } = await verify("--git", remote);
    expect(stdout).toContain("Anchored: 4 of 4 links.\n- In commit");
    expect(stdout).toContain("found. When it was pushed, only that repository can say.");
    expect(stdout).toContain("That nothing was rewritten before it was anchored.");
    const [json] = jsonLines(await verify("--git", remote, "-F", "json"));
    expect(json).toMatchObject({ anchored: 4, anchors: [{ kind: "git", commit, found: true }] });
    execFileSync("git", ["--git-dir", remote, "update-ref", "-d", "refs/heads/jp-anchors"]);
    expect(await verify("--git", remote)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("(commit_missing)"),
    });
  });

  test("without a place for it in the user's own config is an error", async () => {
    const anchored = await new AnchoredProject("").decide();
    const config = path.join(anchored.project.root, ".jp", "config.toml");
    writeFileSync(config, '[proof.anchor]\ntimestamp = "https://tsa.example"\n');
    const { status, stderr } = await anchored.jp("evidence", "anchor");
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/only your own config can set proof[^]*does not say where to anchor/),
    ]);
  });

  test("at two places is an error", async () => {
    const both = 'timestamp = "https://tsa.example"\ngit = "/anchors.git"';
    const { status, stderr } = await new AnchoredProject(both).jp("evidence", "anchor");
    expect([status, stderr]).toEqual([1, expect.stringContaining("not both")]);
  });

  test("that failed is a warning of jp doctor", async () => {
    const anchored = await new AnchoredProject('git = "/nowhere.git"').decide();
    const check = async () => {
      const lines = jsonLines(await anchored.jp("doctor", "-F", "json", "--timeout", "1"));
      return lines.filter((line) => isJsonObject(line) && line["check"] === "anchors");
    };
    expect(await check()).toMatchObject([{ state: "ok", message: "Nothing is anchored yet" }]);
    const { status, stderr } = await anchored.jp("evidence", "anchor");
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining("Cannot anchor the log of heads"),
    ]);
    expect(await check()).toMatchObject([
      { state: "warning", message: expect.stringContaining("The last attempt failed") },
    ]);
  });
});

describe("anchoring by time stamps", () => {
  useOpenssl();

  test("is proved by an export, and by openssl", async () => {
    const authority = createAuthority();
    const url = await serveAuthority((sent) => ({ body: authority.reply(sent) }));
    const anchored = await new AnchoredProject(`timestamp = "${url}"`).decide();
    const { stdout: said } = await anchored.jp("evidence", "anchor");
    expect(said).toBe(`Anchored 1 head of chains with a time stamp from ${new URL(url).host}.\n`);
    await anchored.jp("evidence", "export", "-o", "evidence.jsonl");
    const verify = (...words: readonly string[]) =>
      anchored.jp("evidence", "verify", "evidence.jsonl", ...words);
    expect((await verify()).stdout).toContain("the authority was not checked");
    const { stdout } = await verify("--tsa-cert", authority.root);
    expect(stdout).toMatch(/- Before \S+Z, says CN=Authority: from an authority that you trust\./);
    const other = await verify("--tsa-cert", createAuthority().root);
    expect(other).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("(untrusted_timestamp)"),
    });
    const none = await verify("--tsa-cert", ".jp/.id");
    expect([none.status, none.stderr]).toEqual([2, expect.stringContaining("no certificates")]);
  });
});

/** So many of them ago, in seconds. */
function hours(count: number): number {
  return Date.now() / 1000 - count * 3600;
}

test("a turn anchors in the background, once a day, after what it decided is in the log", async () => {
  await using server = await ModelServer.start(["Hi.", "Hi."]);
  const started = Promise.withResolvers<string>();
  const url = await serveAuthority((sent) => {
    started.resolve(sent.toString("utf8"));
    return { body: Buffer.alloc(0) };
  });
  const { project, variables } = await new AnchoredProject(
    'timestamp = "https://tsa.example"\nevery = "daily"',
  ).decide();
  queryProject({ server, project });
  /** Starts a program that sends these words, and those it was started with. */
  const sending = (word: string) => {
    const body = `[${JSON.stringify(word)}, ...process.argv.slice(1)].join(" ")`;
    const code = `fetch(${JSON.stringify(url)}, { method: "POST", body: ${body} })`;
    return [process.execPath, "-e", code] as const;
  };
  const anchors = path.join(project.data, "proof", "anchors.jsonl");
  mkdirSync(path.dirname(anchors));
  writeFileSync(anchors, "", { mode: 0o600 });
  utimesSync(anchors, hours(23), hours(23));
  const { status } = await query(project, ["Hello"], { variables, self: sending("early") });
  utimesSync(anchors, hours(25), hours(25));
  await query(project, ["Hello"], { variables, self: sending("due") });
  expect([status, await started.promise]).toEqual([0, "due evidence anchor"]);
});
