import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ModelServer } from "./model-server.ts";
import { query, queryProject, recordsOf } from "./query-project.ts";
import { request, time } from "./records.ts";
import { jsonLines, type PlacedConversation, printed, Project } from "./support.ts";

const LABELLED = { labels: { branch: "main", draft: "" } };

function place(project: Project, second: number, metadata: object | string = {}) {
  const given = typeof metadata === "string" ? metadata : { ...metadata };
  const events = [request(second, "Find the needle.")];
  return project.place({ second, title: `At ${second}`, metadata: given, config: {}, events });
}

function metadataOf({ metadata }: PlacedConversation): unknown {
  return JSON.parse(readFileSync(metadata, "utf8"));
}

/** As in RFC 3339. */
function at(second: number): string {
  return `${time(second).replace(" ", "T")}Z`;
}

describe("jp conversation label", () => {
  test("add sets labels of the active conversation, and keeps all else", async () => {
    const project = new Project();
    const placed = place(project, 0, { ...LABELLED, from_the_future: [1] });
    project.activate(placed);
    const added = ["label", "add", "branch=feat,a=b", "team"];
    const { status, stderr } = await project.jp("conversation", ...added);
    expect([status, stderr]).toEqual([0, `Added to ${placed.id} (At 0): branch=feat,a=b, team\n`]);
    expect(metadataOf(placed)).toEqual({
      title: "At 0",
      last_activated_at: time(0),
      labels: { branch: "feat,a=b", draft: "", team: "" },
      from_the_future: [1],
    });
  });

  test("takes several conversations, before or after the verb", async () => {
    const project = new Project();
    const [one, two] = [place(project, 0), place(project, 1)];
    await project.jp("c", "label", "--id", one.id, "add", "a");
    await project.jp("c", "label", "add", "b", "--id", one.id, "--id", two.id);
    expect([one, two].map(metadataOf)).toMatchObject([
      { labels: { a: "", b: "" } },
      { labels: { b: "" } },
    ]);
  });

  test.each<{ words: readonly string[]; removed: string; left: object }>([
    { words: ["branch", "nope"], removed: "branch=main", left: { labels: { draft: "" } } },
    { words: [], removed: "branch=main, draft", left: {} },
  ])("rm $words removes labels, and says which with their values", async (given) => {
    const { words, removed, left } = given;
    const project = new Project();
    const placed = place(project, 0, LABELLED);
    const { stderr } = await project.jp("c", "label", "rm", "--id", placed.id, "--", ...words);
    const missing = words.includes("nope") ? [`${placed.id} (At 0) has no label nope.`] : [];
    expect(stderr.trimEnd().split("\n")).toEqual([
      ...missing,
      `Removed from ${placed.id} (At 0): ${removed}`,
    ]);
    expect(metadataOf(placed)).toEqual({ title: "At 0", last_activated_at: time(0), ...left });
  });

  test("lists them, in JSON too", async () => {
    const project = new Project();
    const placed = place(project, 0, LABELLED);
    project.activate(placed);
    expect(await project.jp("c", "label")).toEqual(printed("branch=main\ndraft\n"));
    expect(jsonLines(await project.jp("c", "label", "ls", "-F", "json"))).toEqual([
      { id: placed.id, labels: LABELLED.labels },
    ]);
  });

  test.each(["1st", "a.b", ":branch", "", "=x", "__proto__=x"])(
    "refuses %j before it changes anything",
    async (label) => {
      const project = new Project();
      const placed = place(project, 0);
      const before = readFileSync(placed.metadata, "utf8");
      const added = await project.jp("c", "label", "--id", placed.id, "add", "fine", label);
      expect([added.status, readFileSync(placed.metadata, "utf8")]).toEqual([2, before]);
    },
  );

  test("neutralizes what others have written", async () => {
    const project = new Project();
    const placed = place(project, 0, { labels: { team: "\u001B[2J" } });
    const { stdout } = await project.jp("c", "label", "--id", placed.id);
    expect(stdout).not.toContain("\u001B");
  });

  test.each([
    ["cannot be read", '{"title": '],
    ["has labels that are not text", '{"last_activated_at":"2026-01-01 00:00:00.0","labels":[1]}'],
  ])("metadata that %s is kept aside when a label is added", async (_, damaged) => {
    const project = new Project();
    const placed = place(project, 0, damaged);
    const { status } = await project.jp("c", "label", "--id", placed.id, "add", "saved");
    const [record, ...others] = recordsOf(project);
    expect([status, others]).toEqual([0, []]);
    expect(readFileSync(`${record?.folder}/metadata.torn`, "utf8")).toBe(damaged);
    expect(readFileSync(`${record?.folder}/metadata.json`, "utf8")).toContain('"saved": ""');
  });
});

test("jp conversation fork copies labels, adds some, or leaves them out", async () => {
  const project = new Project();
  const { id } = place(project, 0, LABELLED);
  const labelsAfter = async (...flags: readonly string[]) => {
    const { stdout: copy } = await project.jp("c", "fork", id, ...flags);
    const listed = await project.jp("c", "label", "ls", "--id", copy.trim(), "-F", "json");
    return jsonLines(listed).map((line) => (line as { labels: unknown }).labels);
  };
  expect([
    await labelsAfter(),
    await labelsAfter("--label", "branch=feat"),
    await labelsAfter("--label", "new", "--reset-labels"),
  ]).toEqual([[LABELLED.labels], [{ branch: "feat", draft: "" }], [{ new: "" }]]);
});

describe("jp query --label", () => {
  test("labels a new conversation, and one that exists", async () => {
    await using server = await ModelServer.start(["A.", "B."]);
    const project = queryProject({ server });
    await query(project, ["one", "--label", "team=core", "--label", "draft"]);
    await query(project, ["two", "--label", "team=web"]);
    expect(jsonLines(await project.jp("c", "ls", "-F", "json"))).toMatchObject([
      { labels: { draft: "", team: "web" } },
    ]);
  });

  test("refuses what is not a label", async () => {
    const { status, stderr } = await query(queryProject({}), ["one", "--label", "a b"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining("A label is key or key=value")]);
  });
});

describe("ls and grep", () => {
  const COMMANDS = [["ls"], ["grep", "-l", "needle"]] as const;
  const commands = (flags: readonly string[]) =>
    COMMANDS.map((command) => ({ command, flags, name: [...command, ...flags].join(" ") }));

  test.each([
    ...commands(["--label", "branch"]).map((one) => ({ ...one, found: [1, 2] })),
    ...commands(["--label", "branch=main"]).map((one) => ({ ...one, found: [1] })),
    ...commands(["--label", "branch", "--label", "draft"]).map((one) => ({ ...one, found: [1] })),
    ...commands(["--label", "draft="]).map((one) => ({ ...one, found: [1] })),
    ...commands(["--label", "constructor"]).map((one) => ({ ...one, found: [] })),
  ])("$name finds those that have all of the labels", async ({ command, flags, found }) => {
    const project = new Project();
    const placed = [
      place(project, 0),
      place(project, 1, LABELLED),
      place(project, 2, { labels: { branch: "feat" } }),
      place(project, 3, "{damaged"),
    ];
    const { stdout } = await project.jp("conversation", ...command, ...flags);
    expect(stdout.match(/jp-c\d+/g) ?? []).toEqual(found.map((index) => placed[index]?.id));
  });

  const DAY = 24 * 3600;

  test.each([
    ...commands(["--from", "3d"]).map((one) => ({ ...one, found: [1, 2] })),
    ...commands(["--from", "1w", "--until", "3d"]).map((one) => ({ ...one, found: [0] })),
    ...commands(["--until", at(0)]).map((one) => ({ ...one, found: [0] })),
    ...commands(["--from", at(0)]).map((one) => ({ ...one, found: [1, 2] })),
    ...commands(["--from", time(DAY).slice(0, 10)]).map((one) => ({ ...one, found: [2] })),
  ])("$name finds those that were started then", async ({ command, flags, found }) => {
    const project = new Project();
    const placed = [place(project, -4 * DAY), place(project, 0), place(project, DAY)];
    const { stdout } = await project.jp("conversation", ...command, ...flags);
    expect(stdout.match(/jp-c\d+/g) ?? []).toEqual(found.map((index) => placed[index]?.id));
  });

  test.each(["today", "2 hours", "2026-01-01T00:00"])("take %j as a time", async (text) => {
    const project = new Project();
    const { id } = place(project, 0);
    const { stdout } = await project.jp("conversation", "ls", "--until", text);
    const usage = await project.jp("usage", "--until", text);
    expect([stdout.includes(id), usage.status]).toEqual([!text.includes("T"), 0]);
  });

  test("take the ID of a conversation as a time", async () => {
    const project = new Project();
    const [, second] = [place(project, 0), place(project, 60)];
    const { stdout } = await project.jp("conversation", "ls", "--from", second.id);
    expect(stdout.match(/jp-c\d+/g)).toEqual([second.id]);
  });

  test.each(["yesterday", "2026-13-01", "-3d", "3", "", "2026-01-01T00"])(
    "refuse %j, and say how to write a time",
    async (text) => {
      const { status, stderr } = await new Project().jp("conversation", "ls", `--from=${text}`);
      expect([status, stderr]).toEqual([2, expect.stringContaining("Not a time")]);
    },
  );
});
