import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { digits, request, time } from "./records.ts";
import { type Finished, lines, type Placed, type PlacedConversation, Project } from "./support.ts";

/** A conversation with one event, at its start. */
function titled(second: number, title: string, more: Partial<Placed> = {}): Placed {
  return { second, title, config: {}, events: [request(second, "Hi.")], ...more };
}

/** The conversation that a command shows, or its error. */
function shownBy({ stdout, stderr }: Finished): string {
  return /^ID +(\S+)/.exec(stdout)?.[1] ?? stderr;
}

describe("a target", () => {
  test("can be an ID, its digits, or part of a title in any case", async () => {
    const project = new Project();
    const { id } = project.place(titled(0, "Release 1.2"));
    project.place(titled(1, "Another"));
    const words = [id, `${id}-abc12`, `${digits(0)}`, "Release 1.2", "RELEASE"];
    const shown = await Promise.all(words.map((word) => project.jp("conversation", "show", word)));
    expect(shown.map(shownBy)).toEqual(words.map(() => id));
  });

  test("can be a number in a title that is not an ID", async () => {
    const project = new Project();
    const { id } = project.place(titled(0, "Plans for 2027"));
    expect(shownBy(await project.jp("conversation", "show", "2027"))).toBe(id);
  });

  test("that matches several is an error that lists them", async () => {
    const project = new Project();
    const first = project.place(titled(0, "Release 1.2"));
    const second = project.place(titled(1, "Release 1.3", { where: "archive" }));
    expect(await project.jp("conversation", "show", "release")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        'jp: "release" matches 2 conversations.',
        "Use the ID of one:",
        `  ${first.id}  Release 1.2`,
        `  ${second.id}  Release 1.3`,
      ),
    });
  });

  test("that matches none is an error", async () => {
    const project = new Project();
    project.place(titled(0, "Release 1.2"));
    expect(await project.jp("conversation", "show", "nothing")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        'jp: No conversation has "nothing" in its title.',
        "`jp conversation ls` lists them; add --archived for archived ones.",
      ),
    });
  });

  test("that is an unknown ID is not reported as a title", async () => {
    const project = new Project();
    project.place(titled(0, "Release 1.2"));
    expect(await project.jp("conversation", "show", "jp-c1")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        "jp: Conversation jp-c1 not found.",
        "`jp conversation ls` lists them; add --archived for archived ones.",
      ),
    });
  });
});

describe("a keyword", () => {
  test("stands for one conversation and has a short form", async () => {
    const project = new Project();
    const placed = placeForKeywords(project);
    const words = {
      active: placed.active.id,
      ".": placed.active.id,
      previous: placed.previous.id,
      s: placed.previous.id,
      recent: placed.recent.id,
      r: placed.recent.id,
      newest: placed.newest.id,
      n: placed.newest.id,
      pinned: placed.pinned.id,
      p: placed.pinned.id,
      archived: placed.archived.id,
      a: placed.archived.id,
    };
    const shown = await Promise.all(
      Object.keys(words).map(async (word) => [
        word,
        shownBy(await project.jp("conversation", "show", word)),
      ]),
    );
    expect(Object.fromEntries(shown)).toEqual(words);
  });

  test("without a conversation is never tried as a title", async () => {
    const project = new Project();
    project.place(titled(0, "the previous, pinned and archived one"));
    const words = ["previous", "s", "pinned", "p", "archived", "a"];
    const shown = await Promise.all(words.map((word) => project.jp("conversation", "show", word)));
    expect(shown.map(({ status, stdout }) => [status, stdout])).toEqual(words.map(() => [1, ""]));
  });

  test("without a conversation deletes nothing", async () => {
    const project = new Project();
    const { folder } = project.place(titled(0, "plans"));
    const { status } = await project.jp("conversation", "rm", "--yes", "p");
    expect({ status, isThere: existsSync(folder) }).toEqual({ status: 1, isThere: true });
  });
});

describe("without a target", () => {
  test("every command uses the active conversation", async () => {
    const project = new Project();
    const first = project.place(titled(0, "First"));
    const second = project.place(titled(1, "Second"));
    project.activate(first, second);
    const { stdout, stderr } = await project.jp("conversation", "path");
    expect({ stdout, stderr }).toEqual({ stdout: lines(first.folder), stderr: "" });
  });

  test.each([["show"], ["print"], ["path"]])(
    "%s uses the most recent conversation if none is active, and says so on stderr",
    async (name) => {
      const project = new Project();
      project.place(titled(0, "First"));
      const { id } = project.place(titled(1, "Second"));
      const [usual, named] = await Promise.all([
        project.jp("conversation", name),
        project.jp("conversation", name, id),
      ]);
      expect([usual, named.stderr]).toEqual([
        {
          ...named,
          stderr: `(No conversation is active in this terminal; using the most recent, ${id}.)\n`,
        },
        "",
      ]);
    },
  );

  test("a command that changes something uses only the active conversation", async () => {
    const project = new Project();
    project.place(titled(0, "First"));
    const commands = [["fork"], ["rm", "--yes"], ["edit", "--title", "New"], ["archive"]];
    const refused = await Promise.all(
      commands.map((words) => project.jp("conversation", ...words)),
    );
    expect(refused).toEqual(
      commands.map(() => ({
        status: 1,
        stdout: "",
        stderr: lines(
          "jp: No conversation is active in this terminal.",
          "Name one, or make one active with `jp conversation use`; `jp conversation ls` lists them.",
        ),
      })),
    );
  });

  test("reading fails if there are no conversations", async () => {
    const project = new Project();
    const { status, stdout } = await project.jp("conversation", "print");
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  });
});

describe("using a conversation", () => {
  test("makes it active in this terminal only", async () => {
    const project = new Project();
    const first = project.place(titled(0, "First"));
    project.place(titled(1, "Second"));
    const used = await project.jp("conversation", "use", "first");
    const here = await project.jp("conversation", "path", "active");
    const elsewhere = await project.jpWith(
      { JP_SESSION: "another" },
      "conversation",
      "path",
      "active",
    );
    expect({ used, here, elsewhere: elsewhere.status }).toEqual({
      used: { status: 0, stdout: "", stderr: `Active in this terminal: ${first.id}  First\n` },
      here: { status: 0, stdout: lines(first.folder), stderr: "" },
      elsewhere: 1,
    });
  });

  test("records the time as its last use", async () => {
    const project = new Project();
    const first = project.place(titled(0, "First", { metadata: { unknown_key: 1 } }));
    const before = Date.now();
    await project.jp("conversation", "use", first.id);
    const metadata = metadataOf(first);
    const noted = Date.parse(`${String(metadata["last_activated_at"]).replace(" ", "T")}Z`);
    expect({ ...metadata, isNoted: noted >= before - 1 && noted <= Date.now() }).toEqual({
      title: "First",
      last_activated_at: metadata["last_activated_at"],
      unknown_key: 1,
      isNoted: true,
    });
  });

  test("without a target switches to the previous one and back", async () => {
    const project = new Project();
    const first = project.place(titled(0, "First"));
    const second = project.place(titled(1, "Second"));
    project.activate(first, second);
    const back = await project.jp("conversation", "use");
    const forth = await project.jp("conversation", "use");
    expect([back.stderr, forth.stderr]).toEqual([
      `Active in this terminal: ${second.id}  Second\n`,
      `Active in this terminal: ${first.id}  First\n`,
    ]);
  });

  test("without a target or a previous one fails", async () => {
    const project = new Project();
    project.place(titled(0, "First"));
    const { status, stdout, stderr } = await project.jp("conversation", "use");
    // No conversation has "previous" in its title.
    expect({ status, stdout, isAboutATitle: stderr.includes("is called") }).toEqual({
      status: 1,
      stdout: "",
      isAboutATitle: false,
    });
  });

  test("restores an archived one", async () => {
    const project = new Project();
    const { id, folder } = project.place(
      titled(0, "Old", { where: "archive", metadata: { archived_at: time(1) } }),
    );
    const used = await project.jp("conversation", "use", id);
    const { stdout } = await project.jp("conversation", "path");
    expect({ used, stdout }).toEqual({
      used: {
        status: 0,
        stdout: "",
        stderr: lines(`Restored ${id} from the archive.`, `Active in this terminal: ${id}  Old`),
      },
      stdout: lines(folder.replace(`.archive${path.sep}`, "")),
    });
  });
});

function metadataOf({ metadata }: PlacedConversation): Record<string, unknown> {
  return JSON.parse(readFileSync(metadata, "utf8")) as Record<string, unknown>;
}

/** Each conversation matches exactly one keyword. */
function placeForKeywords(project: Project) {
  const placed = {
    active: project.place(titled(0, "one")),
    previous: project.place(titled(1, "two")),
    recent: project.place(titled(2, "three", { metadata: { last_activated_at: time(900) } })),
    pinned: project.place(titled(3, "four", { metadata: { pinned_at: time(100) } })),
    archived: project.place(
      titled(4, "five", { where: "archive", metadata: { archived_at: time(200) } }),
    ),
    newest: project.place(titled(5, "six", { metadata: { pinned_at: time(50) } })),
  };
  project.activate(placed.active, placed.previous);
  return placed;
}
